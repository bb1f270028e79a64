import type { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";
import { type RawMetadata, checkMetadata } from "./metadata.js";
import { ByteWriter } from "./writer.js";
import * as Field from "./hello-field.js";
import { helloFieldsOf, type RawGreeting } from "./hello.js";
import { writeField } from "./head.js";

export interface ReadGreeting extends Omit<RawGreeting, "fields" | "renews"> {
  /** True if the client can prove possession of its key when the server challenges it. */
  readonly proves?: true | undefined;
  /** Proof that answers the server's last challenge, sent with renewed credentials. */
  readonly proof?: Uint8Array | undefined;
}

export function provesField(): Uint8Array {
  return fieldBytes(Field.PROVES, new Uint8Array(0));
}

export function proofField(proof: Uint8Array): Uint8Array {
  return fieldBytes(Field.PROOF, proof);
}

function fieldBytes(key: number, value: Uint8Array): Uint8Array {
  const out = new ByteWriter();
  writeField(out, key, value);
  return out.written().slice();
}

/**
 * Reads the greeting in a lane's first frame. Throws `ProtocolError` if the frame is not a valid hello, `RpcError` if
 * the metadata is invalid or too large.
 */
export function readGreeting(frame: Frame): ReadGreeting {
  return readGreetingFields(helloFieldsOf(frame), frame.end);
}

/**
 * Reads the fields that `writeGreeting` wrote, up to the position `end`, and ignores others. Throws `ProtocolError` if
 * they are malformed, `RpcError` if the metadata is invalid or too large.
 */
export function readGreetingFields(cursor: Cursor, end: number): ReadGreeting {
  let credentials: string | undefined;
  let metadata: RawMetadata | undefined;
  let proves: true | undefined;
  let proof: Uint8Array | undefined;
  while (cursor.position < end) {
    const key = cursor.varint();
    const value = cursor.nested();
    if (key === Field.CREDENTIALS) credentials ??= value.text();
    else if (key === Field.METADATA) metadata ??= checkMetadata(value, end);
    else if (key === Field.PROVES) proves = true;
    else if (key === Field.PROOF) proof ??= value.rest();
  }
  return { credentials, metadata, proves, proof };
}
