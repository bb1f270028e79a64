import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { defaultServiceId } from "../contract/service-id.js";
import { codeFromNumber, codeNumber } from "../codes.js";
import { type Code, ProtocolError } from "../errors.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { MemoryBudget } from "../memory-budget.js";
import { isBinaryKey, Metadata } from "../metadata.js";
import { Cursor, cursorOf, readVarint, varintLengthFromFirstByte } from "./cursor.js";
import { readFault } from "./fault.js";
import { writeFault } from "./sent-fault.js";
import { packDetails } from "../server/reply.js";
import { type Departure, readDeparture } from "./departure.js";
import { FLAG_COMPRESSED, FLAG_HEAD, type Frame } from "./frame.js";
import * as GoawayStage from "./goaway-stage.js";
import * as FrameType from "./frame-type.js";
import { type Head, type HeadFields, writeHead, readHead } from "./head.js";
import {
  type CredentialsNotice,
  isOfProof,
  readNotice,
  readOfProof,
  readRenewal,
  writeNotice,
  writeOfProof,
  writeRenewal,
} from "./credentials.js";
import { readHello, writeHello } from "./hello.js";
import { proofField, provesField, type ReadGreeting, readGreeting } from "./greeting.js";
import { decodeMetadata, encodeMetadata, type RawMetadata } from "./metadata.js";
import { unpack, pack } from "../msgpack/pack.js";
import { MISFIT_NOTICE, writeMisfitNotice } from "./misfit-notice.js";
import { FrameReader } from "./reader.js";
import { readRequest, readMisfitNotice } from "../server/dispatch.js";
import { readPing } from "../call/lanes/peer-lane.js";
import { closeFrame, readClose } from "./close-frame.js";
import { writeDeparture } from "../session/create-session.js";
import { FrameWriter, varintLength, writeVarint } from "./writer.js";

const types: Readonly<Record<keyof typeof FrameType, number>> = { ...FrameType };

/** Bytes are written in hex. */
type Entry = [key: string, value: string];
interface Fields {
  type: keyof typeof FrameType;
  callId: number;
  version?: number;
  serviceId?: number;
  methodId?: number;
  timeoutMs?: number;
  metadata?: Entry[];
  trailers?: Entry[];
  refused?: true;
  reason?: string;
  codec?: string;
  fingerprint?: number;
  /** A hello's. */
  compressions?: string;
  credentials?: string;
  renews?: true;
  proves?: true;
  calls?: number;
  /** With credentials that are renewed. */
  proof?: string;
  /** A challenge, or a proof ahead of the session. */
  ofProof?: string;
  /** A server's credentials frame. */
  notice?: CredentialsNotice;
  /** The bytes of the compressed part. */
  compressed?: string;
  code?: Code;
  message?: string;
  details?: unknown;
  bytes?: number;
  /** A goaway's. */
  stage?: number;
  departure?: Departure;
  /** A ping's or pong's. */
  ping?: string;
  /** The method whose answer does not fit, in a notice of that. */
  unreadMethodId?: number;
  /** A close's. */
  closeCode?: number;
  reasonText?: string;
  value?: unknown;
}
interface Vectors {
  varints: { value: number; hex: string }[];
  longerVarints: { value: number; hex: string }[];
  serviceIds: { name: string; id: number }[];
  frames: { name: string; hex: string; frame: Fields }[];
  readOnlyFrames: { name: string; hex: string; frame: Fields }[];
  malformedFrames: { name: string; hex: string }[];
}

const path = new URL("../../../../test/vectors/frames.json", import.meta.url);
const vectors = JSON.parse(readFileSync(path, "utf8")) as Vectors;
const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("the vectors of test/vectors/frames.json", () => {
  it.each(vectors.varints)("varint $value is $hex", ({ value, hex }) => {
    const bytes = new Uint8Array(8);
    const end = writeVarint(bytes, 0, value);
    expect(hexOf(bytes.subarray(0, end))).toBe(hex);
    expect(varintLength(value)).toBe(end);
    expect(readVarint(bytesOf(hex), 0)).toBe(value);
  });

  it.each(vectors.longerVarints)("varint $hex, longer than needed, is $value", ({ value, hex }) => {
    const bytes = bytesOf(hex);
    expect(readVarint(bytes, 0)).toBe(value);
    expect(varintLengthFromFirstByte(bytes[0] ?? 0)).toBe(bytes.length);
  });

  it.each(vectors.serviceIds)("service $name has id $id", ({ name, id }) => {
    expect(defaultServiceId(name)).toBe(id);
  });

  it.each(vectors.frames)("writes $name", ({ hex, frame }) => {
    expect(hexOf(write(frame))).toBe(hex.replaceAll(" ", ""));
  });

  it.each([...vectors.frames, ...vectors.readOnlyFrames])("reads $name", ({ hex, frame }) => {
    expect(read(bytesOf(hex))).toEqual([frame]);
  });

  it.each(vectors.malformedFrames)("refuses $name", ({ hex }) => {
    expect(() => read(bytesOf(hex))).toThrow(ProtocolError);
  });
});

function write(fields: Fields): Uint8Array {
  if (fields.type === "Close") return closeFrame(fields.closeCode as number, fields.reasonText as string);
  const out = new FrameWriter(64);
  const head = headOf(fields);
  const flags = (head === undefined ? 0 : FLAG_HEAD) | (fields.compressed === undefined ? 0 : FLAG_COMPRESSED);
  out.frame(types[fields.type] | flags, fields.callId, () => writeBody(out, fields, head));
  return out.written();
}

function writeBody(out: FrameWriter, fields: Fields, head: HeadFields | undefined): void {
  if (fields.type === "Hello") {
    const { codec, compressions = "", credentials, metadata, renews, proves, calls } = fields;
    const greeting = { credentials, metadata: rawOf(metadata), renews, fields: proves && provesField() };
    writeHello(out, { codec, compressions: bytesOf(compressions), greeting, calls });
  }
  if (fields.type === "Credentials") {
    const { notice, credentials, metadata, proof, ofProof } = fields;
    if (notice !== undefined) writeNotice(out, notice);
    else if (ofProof !== undefined) writeOfProof(out, bytesOf(ofProof));
    else
      writeRenewal(out, {
        credentials,
        metadata: rawOf(metadata),
        fields: proof === undefined ? proof : proofField(bytesOf(proof)),
      });
  } else if (fields.unreadMethodId !== undefined) {
    const { serviceId, unreadMethodId: methodId, reasonText: reason } = fields;
    writeMisfitNotice(out, serviceId as number, { methodId, reason: reason as string });
  } else if (fields.serviceId !== undefined) out.methodId(fields.serviceId, fields.methodId as number);
  if (fields.type === "Error") {
    const { code, message, details } = fields as { code: Code; message: string; details?: unknown };
    writeFault(out, { code, message, head, details: packDetails(details) }, DEFAULT_LIMITS);
  } else if (head !== undefined) {
    writeHead(out, head);
  }
  if (fields.type === "Cancel") out.byte(codeNumber(fields.code as Code));
  if (fields.bytes !== undefined) out.varint(fields.bytes);
  if (fields.stage !== undefined) out.varint(fields.stage);
  if (fields.departure !== undefined) writeDeparture(out, fields.departure);
  if (fields.ping !== undefined) out.bytes(bytesOf(fields.ping));
  if (fields.value !== undefined) out.bytes(pack(fields.value));
  if (fields.compressed !== undefined) out.bytes(bytesOf(fields.compressed));
}

function headOf(fields: Fields): HeadFields | undefined {
  const { type, timeoutMs, codec, fingerprint, metadata, trailers, refused, reason } = fields;
  const all = [timeoutMs, codec, fingerprint, metadata, trailers, refused, reason];
  if (type === "Hello" || all.every((field) => field === undefined)) return undefined;
  return {
    timeoutMs,
    codec,
    fingerprint,
    metadata: rawOf(metadata),
    trailers: rawOf(trailers),
    refused: refused ?? false,
    reason,
  };
}

function rawOf(entries: Entry[] | undefined): RawMetadata | undefined {
  const values = entries?.map(([key, value]): [string, string | Uint8Array] => [
    key,
    isBinaryKey(key) ? bytesOf(value) : value,
  ]);
  return values && encodeMetadata(new Metadata(values), DEFAULT_LIMITS.maxMetadataBytes);
}

function entries(raw: RawMetadata): Entry[] {
  return [...decodeMetadata(raw)].map(([key, value]) => [key, typeof value === "string" ? value : hexOf(value)]);
}

function fieldsOfHead(head: Head | undefined): Partial<Fields> {
  if (head === undefined) return {};
  return {
    ...(head.timeoutMs !== undefined && { timeoutMs: head.timeoutMs }),
    ...(head.codec !== undefined && { codec: head.codec }),
    ...(head.fingerprint !== undefined && { fingerprint: head.fingerprint }),
    ...(head.metadata !== undefined && { metadata: entries(head.metadata) }),
    ...(head.trailers !== undefined && { trailers: entries(head.trailers) }),
    ...(head.refused && { refused: true as const }),
    ...(head.reason !== undefined && { reason: head.reason }),
  };
}

function read(bytes: Uint8Array): Fields[] {
  const found: Fields[] = [];
  new FrameReader(DEFAULT_LIMITS.maxFrameBytes, new MemoryBudget(1e6, "a test")).push(bytes, 0, {
    onFrame(frame) {
      found.push(fieldsOf(frame));
    },
  });
  return found;
}

function fieldsOf(frame: Frame): Fields {
  const names = Object.keys(types) as (keyof typeof FrameType)[];
  const type = names.find((name) => types[name] === frame.type) as keyof typeof FrameType;
  const fields: Fields = { type, callId: frame.callId };
  const cursor = new Cursor(frame.bytes, frame.start, frame.end);
  switch (type) {
    case "Hello":
      return { ...fields, version: cursor.varint(), ...settingsOf(frame) };
    case "Cancel":
      return { ...fields, code: codeFromNumber(cursor.byte()) };
    case "Credit":
      return { ...fields, bytes: cursor.varint() };
    case "Credentials": {
      if (isOfProof(frame)) return { ...fields, ofProof: hexOf(readOfProof(frame)) };
      const notice = readNotice(frame);
      return { ...fields, ...(notice === undefined ? greetingFields(readRenewal(frame)) : { notice }) };
    }
    case "Goaway":
      return { ...fields, ...goawayFields(frame) };
    case "Ping":
    case "Pong":
      return { ...fields, ping: hexOf(readPing(frame)) };
    case "Close": {
      const { closeCode, reason } = readClose(frame);
      return { ...fields, closeCode, reasonText: reason };
    }
    case "Error": {
      const { code, message, head, details } = readFault(frame, DEFAULT_LIMITS.maxMetadataBytes, unexpected);
      const unpacked = details && { details: unpack(details, 0, details.length) };
      return { ...fields, ...fieldsOfHead(head), code, message, ...unpacked };
    }
    case "Request":
    case "Notify": {
      const { serviceId, methodId, cursor: rest } = readRequest(frame);
      if (methodId === MISFIT_NOTICE) {
        const notice = readMisfitNotice(rest);
        return { ...fields, serviceId, methodId, unreadMethodId: notice.methodId, reasonText: notice.reason };
      }
      const head = readHeadOf(frame, rest);
      return { ...fields, serviceId, methodId, ...fieldsOfHead(head), ...payload(frame, rest) };
    }
    default: {
      const head = readHeadOf(frame, cursor);
      return { ...fields, ...fieldsOfHead(head), ...payload(frame, cursor) };
    }
  }
}

function readHeadOf({ flags }: Frame, cursor: Cursor): Head | undefined {
  return (flags & FLAG_HEAD) === 0 ? undefined : readHead(cursor, DEFAULT_LIMITS.maxMetadataBytes);
}

function unexpected(): never {
  throw new Error("the frame is compressed");
}

function settingsOf(frame: Frame): Partial<Fields> {
  const { codec, compressions, renews, proves, calls } = readHello(frame);
  return {
    ...greetingFields(readGreeting(frame)),
    ...(renews === true && { renews }),
    ...(proves === true && { proves }),
    ...(calls !== undefined && { calls }),
    ...(codec !== undefined && { codec }),
    ...(compressions.length > 0 && { compressions: hexOf(compressions) }),
  };
}

function greetingFields({ credentials, metadata, proof }: ReadGreeting): Partial<Fields> {
  return {
    ...(credentials !== undefined && { credentials }),
    ...(metadata !== undefined && { metadata: entries(metadata) }),
    ...(proof !== undefined && { proof: hexOf(proof) }),
  };
}

function payload({ flags }: Frame, { bytes, position, end }: Cursor): { value?: unknown; compressed?: string } {
  if ((flags & FLAG_COMPRESSED) !== 0) return { compressed: hexOf(bytes.subarray(position, end)) };
  return position === end ? {} : { value: unpack(bytes, position, end) };
}

function goawayFields(frame: Frame): Pick<Fields, "stage" | "departure"> {
  const stage = cursorOf(frame).varint();
  if (stage !== GoawayStage.Departing) return { stage };
  const { to, withinMs, final } = readDeparture(frame);
  return {
    stage,
    departure: {
      ...(to !== undefined && { to }),
      ...(withinMs !== undefined && { withinMs }),
      ...(final && { final }),
    },
  };
}
