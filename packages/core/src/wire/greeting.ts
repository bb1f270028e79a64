import type { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";
import { type RawMetadata, checkMetadata } from "./metadata.js";
import { ByteWriter } from "./writer.js";
import { Field, helloFieldsOf, type RawGreeting } from "./hello.js";
import { writeField } from "./head.js";

/** Greeting of a client, as it was read. */
export interface ReadGreeting extends Omit<RawGreeting, "fields" | "renews"> {
  /** The client can prove possession of its key if the server challenges it. */
  readonly proves?: true | undefined;
  /** Proof that answers the server's last challenge, with credentials that are renewed. */
  readonly proof?: Uint8Array | undefined;
}

/** Returns the field of a client that proves its key, in its hello. */
export function provesField(): Uint8Array {
  return fieldBytes(Field.Proves, new Uint8Array(0));
}

/** Returns the field of a proof, with credentials that are renewed. */
export function proofField(proof: Uint8Array): Uint8Array {
  return fieldBytes(Field.Proof, proof);
}

function fieldBytes(key: number, value: Uint8Array): Uint8Array {
  const out = new ByteWriter();
  writeField(out, key, value);
  return out.written().slice();
}

/** Reads the greeting in a lane's first frame. Throws `ProtocolError` as `readHello` does, `RpcError` for metadata that may not be. */
export function readGreeting(frame: Frame): ReadGreeting {
  return readGreetingFields(helloFieldsOf(frame), frame.end);
}

/** Reads the fields that `writeGreeting` wrote, up to `end`; others are passed over. Throws as `readGreeting` does. */
export function readGreetingFields(cursor: Cursor, end: number): ReadGreeting {
  let credentials: string | undefined;
  let metadata: RawMetadata | undefined;
  let proves: true | undefined;
  let proof: Uint8Array | undefined;
  while (cursor.position < end) {
    const key = cursor.varint();
    const value = cursor.nested();
    if (key === Field.Credentials) credentials ??= value.text();
    else if (key === Field.Metadata) metadata ??= checkMetadata(value, end);
    else if (key === Field.Proves) proves = true;
    else if (key === Field.Proof) proof ??= value.rest();
  }
  return { credentials, metadata, proves, proof };
}
