import { misfit } from "./misfit.js";
import { Reader } from "./reader.js";

/** The one value that `read` finds in all of `bytes[start, end)`; a misfit where it ends elsewhere. */
export function readWhole<T>(bytes: Uint8Array, start: number, end: number, read: (r: Reader, p: number) => T): T {
  const r = idle ?? new Reader();
  // Reading may run code of the application's, which may read another message.
  idle = undefined;
  try {
    r.begin(bytes, start, end);
    const value = read(r, start);
    return r.position === end ? value : misfit();
  } finally {
    idle = r;
  }
}

let idle: Reader | undefined;
