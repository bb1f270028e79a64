import type { AnyMethod } from "@quicrpc/core/generated";
import { json } from "@quicrpc/core";
import type { QueryKey } from "@tanstack/query-core";

/** Returns the key of all calls of `method`: scope (if any), service, method. It is plain JSON, as all keys are. */
export function methodKey(scope: string | undefined, { service, name }: AnyMethod): QueryKey {
  return scope === undefined ? [service.name, name] : [scope, service.name, name];
}

/** Returns the key of calls with this input, given the key of their method. Without an input they are the same. */
export function withInput(key: QueryKey, input: unknown): QueryKey {
  return input === undefined ? key : [...key, plain(input)];
}

/**
 * Converts a value to plain JSON that is different for different values: TanStack Query hashes keys with
 * `JSON.stringify`, which throws for a bigint and does not distinguish `Map`s. Values outside JSON are tagged as by the
 * `json` codec.
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
