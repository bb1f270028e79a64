import { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";
import { type RawGreeting, writeGreeting } from "./hello.js";
import { type ReadGreeting, readGreetingFields } from "./greeting.js";
import { ProtocolError } from "../errors.js";
import type { FrameWriter } from "./writer.js";
import * as CredentialsKind from "./credentials-kind.js";

/** Minimum milliseconds between two renewals of a client, whatever the server requests: it must not keep the application busy. */
export const MIN_RENEWAL_INTERVAL_MS = 5000;

/** Whether a credentials frame is a challenge, or a proof that answers it. */
export function isOfProof({ bytes, start, end }: Frame): boolean {
  return start < end && bytes[start] === CredentialsKind.OfProof;
}

/** Appends the body of a challenge or of a proof. */
export function writeOfProof(out: FrameWriter, challengeOrProof: Uint8Array): void {
  out.varint(CredentialsKind.OfProof);
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
    out.varint(CredentialsKind.Wanted);
    out.varint(notice.withinMs);
  } else {
    out.varint(CredentialsKind.Valid);
    if (notice.leftMs !== undefined) out.varint(notice.leftMs);
  }
}

/** Reads a server's frame; undefined for a kind that is not known here. */
export function readNotice({ bytes, start, end }: Frame): CredentialsNotice | undefined {
  const cursor = new Cursor(bytes, start, end);
  const kind = cursor.varint();
  if (kind === CredentialsKind.Wanted) return { kind: "wanted", withinMs: cursor.varint() };
  if (kind !== CredentialsKind.Valid) return undefined;
  return cursor.position < end ? { kind: "valid", leftMs: cursor.varint() } : { kind: "valid" };
}

/** Appends the body of a client's frame. */
export function writeRenewal(out: FrameWriter, greeting: RawGreeting): void {
  out.varint(CredentialsKind.Given);
  writeGreeting(out, greeting);
}

/** Reads a client's frame. Throws `ProtocolError` if it is malformed, `RpcError` for invalid metadata. */
export function readRenewal({ bytes, start, end }: Frame): ReadGreeting {
  const cursor = new Cursor(bytes, start, end);
  const kind = cursor.varint();
  if (kind !== CredentialsKind.Given) throw new ProtocolError(`a client sends no credentials frame of kind ${kind}`);
  return readGreetingFields(cursor, end);
}
