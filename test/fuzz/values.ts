import { RpcError, type SessionCodec } from "@quicrpc/core";
import { json } from "../../packages/core/src/call/messages/json.js";
import { requireModest } from "../../packages/core/src/call/messages/nesting.js";
import { msgpackRecords } from "../../packages/core/src/call/messages/records-codec.js";
import { msgpack } from "../../packages/core/src/call/messages/session-format.js";
import { misfit } from "../../packages/core/src/msgpack/misfit.js";
import { unpackExactly } from "../../packages/core/src/msgpack/pack.js";
import { plain } from "../../packages/core/src/msgpack/value.js";
import { ByteWriter } from "../../packages/core/src/wire/writer.js";
import type { Target } from "./fuzz.js";
import { bytesOf } from "./wire.js";

const samples: readonly unknown[] = [
  null,
  [1, -1, 128, -129, 65_536, 2 ** 40, 0.5, Number.NaN, true, "text", "größer als ein Byte, und länger als 31"],
  { a: 1, b: [undefined, 2n ** 63n, -5n], at: new Date(1_500_000_000_123), old: new Date(-1), whole: new Date(1000) },
  [
    new Uint8Array([1, 2, 3]),
    new Map<unknown, unknown>([
      [1, "one"],
      ["two", { a: 1 }],
    ]),
    new Set([1, 2]),
  ],
  Array.from({ length: 40 }, (_, i) => ({ a: i, b: String(i), c: { a: i, b: null } })),
  [[[[[[[[[[]]]]]]]]]],
];

function encoded(codec: SessionCodec, value: unknown): Uint8Array {
  const out = new ByteWriter(new Uint8Array(64));
  codec.encode(value, out);
  return out.written().slice();
}

/** Target of values: those that can be read are read alike when they are sent on; others are refused by an error of the codec's own. */
function target(name: string, codec: SessionCodec, more: readonly Uint8Array[] = []): Target {
  return {
    name,
    corpus: [...samples.map((sample) => encoded(codec, sample)), ...more],
    run(input) {
      const value = read(codec, input);
      if (value === REFUSED) return 0;
      const first = encoded(codec, value);
      // Once sent on, a value is what this side writes: -0 and keys that were numbers are not, as they came.
      const second = encoded(codec, read(codec, first));
      const third = encoded(codec, read(codec, second));
      if (Buffer.compare(second, third) !== 0) throw new Error("is another when it is sent on");
      return count(value);
    },
  };
}

const REFUSED = Symbol("refused");

function read(codec: SessionCodec, bytes: Uint8Array): unknown {
  return refusable(() => {
    const value = codec.decode(bytes, 0, bytes.length);
    requireModest(value, bytes.length);
    return value;
  });
}

function refusable(decode: () => unknown): unknown {
  try {
    return decode();
  } catch (error) {
    if (isRefusal(error)) return REFUSED;
    throw error;
  }
}

/** Returns true for errors that reject invalid bytes; false for errors of the program, or for a full stack. */
function isRefusal(error: unknown): boolean {
  if (error === MISFIT || error instanceof RpcError || error instanceof SyntaxError) return true;
  if (error instanceof RangeError) return !error.message.includes("call stack");
  return (error as { code?: unknown }).code === "ERR_ENCODING_INVALID_ENCODED_DATA";
}

const MISFIT = thrownBy(misfit);

function thrownBy(act: () => never): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

function count(value: unknown): number {
  if (value instanceof Map) return count([...value].flat());
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || value instanceof Date) return 1;
  const parts = Array.isArray(value) || value instanceof Set ? [...(value as Iterable<unknown>)] : Object.values(value);
  return parts.reduce<number>((sum, part) => sum + count(part), 1);
}

/** Compiled codecs read what is exact, others what is plain: they are the same but for that. */
const exact: Target = {
  name: "msgpack-exact",
  corpus: samples.map((sample) => encoded(msgpack, sample)),
  run(input) {
    const value = refusable(() => plain(unpackExactly(input, 0, input.length)));
    const same = refusable(() => msgpack.decode(input, 0, input.length));
    if ((value === REFUSED) !== (same === REFUSED)) throw new Error("is refused only where nothing is to be lost");
    if (value === REFUSED) return 0;
    if (Buffer.compare(encoded(msgpack, value), encoded(msgpack, same)) !== 0)
      throw new Error("is another when nothing is to be lost");
    return 0;
  },
};

const structures = [
  ["a", "b"],
  ["a", "b", "c"],
];

export const valueTargets: readonly Target[] = [
  target(
    "msgpack",
    msgpack,
    ["dd7fffffff", "c70cff0000000000000000ffffffff", "d72240000000000000", "8101c0"].map(bytesOf),
  ),
  exact,
  target("records", msgpackRecords(structures), [encoded(msgpackRecords(), samples[4])]),
  target("json", json, [
    Buffer.from('{"$$date":1,"x":{"$map":[[1,2],[{"$set":[1]},{"$undefined":true}]]},"y":{"$number":"-0"}}'),
    Buffer.from('{"__proto__":{"a":1},"b":{"$date":"2026-01-31T00:00:00.000+02:00"},"c":"\\ud800"}'),
  ]),
];
