import { misfit } from "./misfit.js";
import { Reader } from "./reader.js";

/** Reads the single value in `bytes[start, end)` with `read`. Throws a misfit if the value ends elsewhere. */
export function readWhole<T>(bytes: Uint8Array, start: number, end: number, read: (r: Reader, p: number) => T): T {
  const r = idle ?? new Reader();
  // Reading may run code of the application's, which may read another message.
  idle = undefined;
  try {
    const value = read(r, r.begin(bytes, start, end));
    return r.position === r.end ? value : misfit();
  } finally {
    idle = r;
  }
}

let idle: Reader | undefined;
