import type { Readable, Writable } from "node:stream";

/** Reads the runner's next message: its length in 4 bytes, then its bytes. Returns undefined at the end. */
export async function readMessage(from: Readable): Promise<Uint8Array | undefined> {
  const head = await readBytes(from, 4);
  return head === undefined ? undefined : readBytes(from, head.readUInt32BE(0));
}

/** Writes a message in the same way. */
export function writeMessage(to: Writable, bytes: Uint8Array): void {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  to.write(Buffer.concat([head, bytes]));
}

async function readBytes(from: Readable, length: number): Promise<Buffer | undefined> {
  if (length === 0) return Buffer.alloc(0);
  for (;;) {
    const bytes = from.read(length) as Buffer | null;
    if (bytes !== null) return bytes.length === length ? bytes : undefined;
    if (from.readableEnded || from.destroyed) return undefined;
    await new Promise<void>((resolve) => {
      from.once("readable", resolve);
      from.once("end", resolve);
    });
  }
}
