import { hkdfSync } from "node:crypto";
import type { ListenSettings } from "./listener.js";

const SECRET_BYTES = 32;

/** Returns the default secret of a server. It is derived from the private key, so it is the same after a restart. */
export function secretOf(tls: ListenSettings["tls"]): Uint8Array | undefined {
  const key: unknown = [tls].flat()[0]?.key;
  // The engine says what is wrong with another.
  if (typeof key !== "string" && !(key instanceof Uint8Array)) return undefined;
  return new Uint8Array(hkdfSync("sha256", key, "", "quicrpc secret of a server", SECRET_BYTES));
}
