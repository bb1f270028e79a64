import type { Socket } from "node:net";

/** Node reads at most so much at once. */
const CHUNK_BYTES = 65_536;

/** Memory that chunks of all sockets are read into, one after the other. Made when the first is. */
let memory: Uint8Array | undefined;

/** The parts of a socket that Node's own option `onread` sets. */
interface SocketParts {
  readonly _handle?: { readonly useUserBuffer?: (memory: Uint8Array) => void } | null;
  [key: symbol]: unknown;
}

/**
 * Has Node read what a socket receives into memory of this module, and calls `onBytes` with it instead of emitting `data`. `onBytes` must have
 * read the bytes when it returns: the next chunk, of any socket, overwrites them. If it returns false, Node stops reading until the stream asks
 * for more, as after a `push` that returned false. `end`, `error`, `close`, `pause` and `resume` work as before.
 *
 * A chunk is a new buffer otherwise, of which V8 counts the bytes as memory that its next collection has to free. Node has the option `onread`
 * for it (https://nodejs.org/api/net.html#socketconnectoptions-connectlistener), but for sockets that connect, and none for those that a server
 * accepts. So this sets what the option sets. A socket without such parts emits `data` as before: callers listen for that in any case.
 */
export function readInto(socket: Socket, onBytes: (bytes: Uint8Array) => boolean): void {
  const parts = socket as unknown as SocketParts;
  const keys = Object.getOwnPropertySymbols(socket);
  const buffer = keys.find(({ description }) => description === "kBuffer");
  const callback = keys.find(({ description }) => description === "kBufferCb");
  const handle = parts._handle;
  if (buffer === undefined || callback === undefined || typeof handle?.useUserBuffer !== "function") return;
  const into = (memory ??= new Uint8Array(CHUNK_BYTES));
  parts[buffer] = into;
  parts[callback] = (length: number): boolean => onBytes(into.subarray(0, length));
  handle.useUserBuffer(into);
}
