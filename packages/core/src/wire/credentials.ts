import { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";
import { type RawGreeting, type ReadGreeting, readGreetingFields, writeGreeting } from "./hello.js";
import { ProtocolError } from "../errors.js";
import type { FrameWriter } from "./writer.js";

/** Kind of a frame from the server: a nonce (32 bytes), of which the client proves that it has its key. From the client: a proof of it (proof.ts). */
export const OF_PROOF = 0x3;

/** Kinds of a credentials frame. */
const Kind = {
  /** From the server: milliseconds until what the client has proven expires (varint); absent where nobody knows. It answers `Given`. */
  Valid: 0x0,
  /** From the client: the fields of a greeting. */
  Given: 0x1,
  /** From the server: give credentials anew, at some moment of so many milliseconds (varint). */
  Wanted: 0x2,
} as const;

/** Whether a credentials frame is a challenge, or a proof that answers it. */
export function isOfProof({ bytes, start, end }: Frame): boolean {
  return start < end && bytes[start] === OF_PROOF;
}

/** Appends the body of a challenge or of a proof. */
export function writeOfProof(out: FrameWriter, challengeOrProof: Uint8Array): void {
  out.varint(OF_PROOF);
  out.bytes(challengeOrProof);
}

/** Reads a copy of a challenge or a proof, of a frame that `isOfProof`. */
export function readOfProof({ bytes, start, end }: Frame): Uint8Array {
  return bytes.slice(start + 1, end);
}

/** A server's notice about its client's credentials. */
export type CredentialsNotice =
  | { readonly kind: "valid"; readonly leftMs?: number | undefined }
  | { readonly kind: "wanted"; readonly withinMs: number };

/** Appends the body of a server's frame. */
export function writeNotice(out: FrameWriter, notice: CredentialsNotice): void {
  if (notice.kind === "wanted") {
    out.varint(Kind.Wanted);
    out.varint(notice.withinMs);
  } else {
    out.varint(Kind.Valid);
    if (notice.leftMs !== undefined) out.varint(notice.leftMs);
  }
}

/** Reads a server's frame; undefined for a kind that is not known here. */
export function readNotice({ bytes, start, end }: Frame): CredentialsNotice | undefined {
  const cursor = new Cursor(bytes, start, end);
  const kind = cursor.varint();
  if (kind === Kind.Wanted) return { kind: "wanted", withinMs: cursor.varint() };
  if (kind !== Kind.Valid) return undefined;
  return cursor.position < end ? { kind: "valid", leftMs: cursor.varint() } : { kind: "valid" };
}

/** Appends the body of a client's frame. */
export function writeRenewal(out: FrameWriter, greeting: RawGreeting): void {
  out.varint(Kind.Given);
  writeGreeting(out, greeting);
}

/** Reads a client's frame. Throws `ProtocolError` where it is none, `RpcError` for metadata that may not be. */
export function readRenewal({ bytes, start, end }: Frame): ReadGreeting {
  const cursor = new Cursor(bytes, start, end);
  const kind = cursor.varint();
  if (kind !== Kind.Given) throw new ProtocolError(`a client sends no credentials frame of kind ${kind}`);
  return readGreetingFields(cursor, end);
}
