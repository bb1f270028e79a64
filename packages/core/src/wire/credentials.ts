import { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";
import { type RawGreeting, writeGreeting } from "./hello.js";
import { type ReadGreeting, readGreetingFields } from "./greeting.js";
import { ProtocolError } from "../errors.js";
import type { FrameWriter } from "./writer.js";
import * as CredentialsKind from "./credentials-kind.js";

/**
 * Minimum milliseconds between two credential renewals of a client, regardless of what the server requests, so that a
 * server cannot keep the application busy.
 */
export const MIN_RENEWAL_INTERVAL_MS = 5000;

export function isOfProof({ bytes, start, end }: Frame): boolean {
  return start < end && bytes[start] === CredentialsKind.OfProof;
}

export function writeOfProof(out: FrameWriter, challengeOrProof: Uint8Array): void {
  out.varint(CredentialsKind.OfProof);
  out.bytes(challengeOrProof);
}

/** Returns a copy of the challenge or proof in a frame for which `isOfProof` returns true. */
export function readOfProof({ bytes, start, end }: Frame): Uint8Array {
  return bytes.slice(start + 1, end);
}

/** A server's message to a client about the client's credentials. */
export type CredentialsNotice =
  | { readonly kind: "valid"; readonly leftMs?: number | undefined }
  | { readonly kind: "wanted"; readonly withinMs: number };

export function writeNotice(out: FrameWriter, notice: CredentialsNotice): void {
  if (notice.kind === "wanted") {
    out.varint(CredentialsKind.Wanted);
    out.varint(notice.withinMs);
  } else {
    out.varint(CredentialsKind.Valid);
    if (notice.leftMs !== undefined) out.varint(notice.leftMs);
  }
}

/** Reads a credentials frame from a server. Returns undefined if its kind is unknown. */
export function readNotice({ bytes, start, end }: Frame): CredentialsNotice | undefined {
  const cursor = new Cursor(bytes, start, end);
  const kind = cursor.varint();
  if (kind === CredentialsKind.Wanted) return { kind: "wanted", withinMs: cursor.varint() };
  if (kind !== CredentialsKind.Valid) return undefined;
  return cursor.position < end ? { kind: "valid", leftMs: cursor.varint() } : { kind: "valid" };
}

export function writeRenewal(out: FrameWriter, greeting: RawGreeting): void {
  out.varint(CredentialsKind.Given);
  writeGreeting(out, greeting);
}

/**
 * Reads a credentials frame from a client. Throws `ProtocolError` if it is malformed, `RpcError` if its metadata is
 * invalid.
 */
export function readRenewal({ bytes, start, end }: Frame): ReadGreeting {
  const cursor = new Cursor(bytes, start, end);
  const kind = cursor.varint();
  if (kind !== CredentialsKind.Given) throw new ProtocolError(`a client sends no credentials frame of kind ${kind}`);
  return readGreetingFields(cursor, end);
}
