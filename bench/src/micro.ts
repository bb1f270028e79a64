// The pieces of a call, by themselves: `node dist/micro.js`.
import { createMemoryPair, createRouter, createSession, defineMethod, msgpackCodec, zodCodec } from "@quicrpc/core";
import { Bench } from "tinybench";
import { z } from "zod";
import { measureBatching } from "./batching.js";

const User = z.object({ id: z.int(), name: z.string(), tags: z.array(z.string()), active: z.boolean() });
const user = { id: 4711, name: "Ada Lovelace", tags: ["first", "programmer"], active: true };
const service = { name: "bench.v1.Micro", id: 1 };
const echo = defineMethod(service, "unary", "echo", { id: 1, input: zodCodec(User), output: zodCodec(User) });
const items = defineMethod(service, "server_stream", "items", { id: 2, output: zodCodec(z.object({ i: z.int() })) });

/** A payload writer as the runtime has it. */
class Out {
  buffer = new Uint8Array(1 << 16);
  position = 0;
  reserve(): void {}
}

const [here, there] = createMemoryPair();
createSession(there, {
  routers: [
    createRouter(
      { echo, items },
      {
        echo: (input) => input,
        *items() {
          for (let i = 0; i < 100; i++) yield { i };
        },
      },
    ),
  ],
});
const session = createSession(here);

const out = new Out();
const bench = new Bench({ time: 500 });
for (const [name, codec] of [
  ["msgpack", msgpackCodec<typeof user>()],
  ["msgpack and zod", zodCodec(User)],
] as const) {
  const encode = (): void => {
    out.position = 0;
    codec.encode(user, out);
  };
  encode();
  const { position } = out;
  const bytes = out.buffer.slice(0, position);
  bench.add(`encode a user, ${name}`, encode);
  bench.add(`decode a user, ${name}`, () => void codec.decode(bytes, 0, position));
}
bench.add("in-process call, lane", () => session.unary(echo, user));
bench.add("in-process call, own stream", () => session.unary(echo, user, { via: "stream" }));
bench.add("in-process stream of 100 items", async () => {
  for await (const _ of session.serverStream(items, undefined));
});

await bench.run();
console.table(
  bench.tasks.map(({ name, result }) =>
    result.state === "completed" ? { name, "ns, median": Math.round(result.latency.p50 * 1e6) } : { name },
  ),
);
await session.close();
console.table(await measureBatching());
