import type { AnyMethod } from "@quicrpc/core/generated";
import { json } from "@quicrpc/core";
import type { QueryKey } from "@tanstack/query-core";

/** The key by which all calls of `method` are found: scope (where there is one), service, method. Plain JSON, as all keys are. */
export function methodKey(scope: string | undefined, { service, name }: AnyMethod): QueryKey {
  return scope === undefined ? [service.name, name] : [scope, service.name, name];
}

/** The key of calls with this input, by the key of their method. Without one they are the same. */
export function withInput(key: QueryKey, input: unknown): QueryKey {
  return input === undefined ? key : [...key, plain(input)];
}

/**
 * The value as plain JSON, different for different values: TanStack Query hashes keys by `JSON.stringify`, which throws for
 * a bigint and takes every `Map` for the same. What JSON lacks is tagged, as the codec `json` does on the wire.
 */
function plain(value: unknown): unknown {
  const out = {
    buffer: new Uint8Array(),
    position: 0,
    reserve(length: number) {
      this.buffer = new Uint8Array(length);
    },
  };
  json.encode(value, out);
  return JSON.parse(new TextDecoder().decode(out.buffer));
}
