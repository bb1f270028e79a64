// Sizes and times of messages, by codec: `node dist/codecs.js [--json] [message …]`. Times are medians, of messages that differ from one another.
import type { MessageCodec } from "@quicrpc/core/generated";
import { useTextPlatform } from "@quicrpc/core/internal";
import { Packr } from "msgpackr";
import { Bench } from "tinybench";
import { Messages } from "./messages.service.js";
import { messagesMethods } from "./generated/messages.js";
import { protobufOf } from "./codecs/protobuf.js";
import { makers } from "./codecs/values.js";

const SAMPLES = 64;

/** Times of one message, in ns. */
export interface CodecRow {
  readonly message: string;
  readonly codec: string;
  readonly encode: number;
  readonly decode: number;
  readonly bytes: number;
}

/** Standard MessagePack, with the same bytes as the compiled codecs. */
const packr = new Packr({ useRecords: false, variableMapSize: true, skipValues: [undefined] } as object);

class Out {
  buffer: Uint8Array = new Uint8Array(1 << 20);
  position = 0;
  reserve(): void {}
}
const out = new Out();

interface Contestant {
  readonly name: string;
  encode(value: object): Uint8Array | number;
  decode(bytes: Uint8Array, start: number, end: number): unknown;
  make?(value: object): object;
  before?(): void;
}

function codecContestant(name: string, codec: MessageCodec<never, unknown>, before?: () => void): Contestant {
  return {
    name,
    ...(before && { before }),
    encode(value) {
      out.position = 0;
      codec.encode(value as never, out);
      return out.position;
    },
    decode: (bytes, start, end) => codec.decode(bytes, start, end),
  };
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

function contestants(message: keyof typeof makers): Contestant[] {
  const compiled = messagesMethods[message].input as MessageCodec<never, unknown>;
  const protobuf = protobufOf(message);
  const schema = Messages.methods[message].input;
  return [
    codecContestant("compiled", compiled, () => useTextPlatform("native")),
    codecContestant("compiled, in a browser", compiled, () => useTextPlatform("web")),
    {
      name: "msgpackr",
      encode: (value) => packr.pack(value),
      decode: (bytes, start, end) => packr.unpack(bytes, { start, end }),
    },
    {
      name: "msgpackr and zod",
      encode: (value) => packr.pack(schema.parse(value)),
      decode: (bytes, start, end) => schema.parse(packr.unpack(bytes, { start, end })),
    },
    ...(protobuf === undefined
      ? []
      : [
          {
            ...protobuf,
            name: "@bufbuild/protobuf",
            decode: (b: Uint8Array, start: number, end: number) => protobuf.decode(b.subarray(start, end)),
          },
        ]),
    {
      name: "JSON and zod",
      encode: (value) => Buffer.from(JSON.stringify(schema.parse(value))),
      decode: (bytes, start, end) => schema.parse(JSON.parse(asBuffer(bytes).toString("utf8", start, end))),
    },
  ];
}

const json = process.argv.includes("--json");
const named = process.argv.slice(2).filter((argument) => argument !== "--json");
const rows: CodecRow[] = [];
for (const message of (named.length > 0 ? named : Object.keys(makers)) as (keyof typeof makers)[]) {
  const values = Array.from({ length: SAMPLES }, () => makers[message]());
  for (const contestant of contestants(message)) {
    contestant.before?.();
    const inputs = values.map((value) => contestant.make?.(value) ?? value);
    const encoded = inputs.map((value) => {
      const bytes = contestant.encode(value);
      return typeof bytes === "number" ? out.buffer.slice(0, bytes) : bytes;
    });
    // Behind one another in one buffer, as they are received.
    const batch = new Uint8Array(Buffer.concat(encoded));
    const ends: number[] = [];
    for (const { length } of encoded) ends.push((ends.at(-1) ?? 0) + length);
    // All of the samples each time: the clock is too coarse for one.
    const bench = new Bench({ time: 400, warmupTime: 200 })
      .add("encode", () => {
        for (const value of inputs) contestant.encode(value);
      })
      .add("decode", () => {
        let start = 0;
        for (const end of ends) {
          contestant.decode(batch, start, end);
          start = end;
        }
      });
    await bench.run();
    const [encoding, decoding] = bench.tasks.map(({ result }) =>
      result.state === "completed" ? Math.round((result.latency.p50 * 1e6) / SAMPLES) : undefined,
    );
    const bytes = Math.round(batch.length / SAMPLES);
    rows.push({ message, codec: contestant.name, encode: encoding ?? NaN, decode: decoding ?? NaN, bytes });
  }
}
if (json) console.log(JSON.stringify(rows));
else console.table(rows);
