import { ProtocolError } from "../errors.js";
import { type Cursor, cursorOf } from "./cursor.js";
import { type Frame, PROTOCOL_VERSION } from "./frame.js";
import { writeField } from "./head.js";
import type { RawMetadata } from "./metadata.js";
import { encodeText, type FrameWriter, varintLength } from "./writer.js";
import * as FrameType from "./frame-type.js";
import * as Field from "./hello-field.js";

/** The first frame of each side on a lane: version (varint), then fields as in a head. */
export interface HelloFrame {
  /** Name of the codec of the calls that the sender makes on the lane; undefined for MessagePack. */
  readonly codec: string | undefined;
  /** Numbers of the compression algorithms that the sender can decompress. */
  readonly compressions: Uint8Array;
  /**
   * The client's credentials and metadata, only on the first lane of a session. `authenticate` reads them before a
   * session is created.
   */
  readonly greeting?: RawGreeting | undefined;
  readonly renews?: boolean;
  readonly proves?: boolean;
  /** Number of the receiver's calls that the sender serves at the same time; undefined if it does not say. */
  readonly calls?: number | undefined;
}

export interface RawGreeting {
  readonly credentials?: string | undefined;
  /** Session metadata, encoded like the metadata of a call. */
  readonly metadata?: RawMetadata | undefined;
  readonly renews?: true | undefined;
  /** Encoded fields of a client that proves possession of its key (`provesField`, `proofField`). */
  readonly fields?: Uint8Array | undefined;
}

export function writeHello(out: FrameWriter, { codec, compressions, greeting, calls }: HelloFrame): void {
  out.varint(PROTOCOL_VERSION);
  if (compressions.length > 0) writeField(out, Field.COMPRESSIONS, compressions);
  if (codec !== undefined) writeField(out, Field.CODEC, encodeText(codec, 64));
  if (calls !== undefined) {
    out.varint(Field.CALLS);
    out.varint(varintLength(calls));
    out.varint(calls);
  }
  if (greeting === undefined) return;
  writeGreeting(out, greeting);
  if (greeting.renews === true) writeField(out, Field.RENEWS, new Uint8Array(0));
}

export function writeGreeting(out: FrameWriter, { credentials, metadata, fields }: RawGreeting): void {
  if (credentials !== undefined) writeField(out, Field.CREDENTIALS, new TextEncoder().encode(credentials));
  if (metadata !== undefined) writeField(out, Field.METADATA, metadata);
  if (fields !== undefined) out.bytes(fields);
}

/**
 * Reads a hello frame. Throws `ProtocolError` if the frame is not a hello, or has a version or field that this side
 * does not support.
 */
export function readHello(frame: Frame): HelloFrame {
  const cursor = helloFieldsOf(frame);
  let codec: string | undefined;
  let compressions: Uint8Array = new Uint8Array(0);
  let renews = false;
  let proves = false;
  let calls: number | undefined;
  while (cursor.position < frame.end) {
    const key = cursor.varint();
    const value = cursor.nested();
    if (key === Field.COMPRESSIONS) compressions = value.rest();
    else if (key === Field.CODEC) codec = value.text();
    else if (key === Field.RENEWS) renews = true;
    else if (key === Field.PROVES) proves = true;
    else if (key === Field.CALLS) calls = value.varint();
    else if (key % 2 === 0) throw new ProtocolError(`the setting ${key} of a hello is not understood here`);
  }
  return { codec, compressions, renews, proves, calls };
}

/**
 * Returns a cursor over the fields of a hello frame. Throws `ProtocolError` if the frame is not a hello, or has another
 * version.
 */
export function helloFieldsOf(frame: Frame): Cursor {
  if (frame.type !== FrameType.Hello) throw new ProtocolError("a lane begins with hello");
  const cursor = cursorOf(frame);
  const version = cursor.varint();
  if (version === PROTOCOL_VERSION) return cursor;
  throw new ProtocolError(`the peer speaks version ${version} of the protocol, this side ${PROTOCOL_VERSION}`);
}
