import { createORPCClient } from "@orpc/client";
import { RPCLink } from "@orpc/client/websocket";
import { os, type RouterClient } from "@orpc/server";
import { RPCHandler } from "@orpc/server/ws";
import { z } from "zod";
import { service, type Contestant } from "../contestant.js";
import { listen, trusting } from "./websocket.js";

const bench = {
  multiply: os
    .input(z.object({ a: z.int(), b: z.int() }))
    .output(z.object({ pro: z.int() }))
    .handler(({ input: { a, b } }) => ({ pro: service.multiply(a, b) })),
  empty: os.handler(() => {}),
  echo: os
    .input(z.instanceof(Blob))
    .output(z.instanceof(Blob))
    .handler(({ input }) => input),
  wait: os.input(z.object({ ms: z.int() })).handler(({ input }) => service.wait(input.ms)),
  items: os.input(z.object({ count: z.int() })).handler(async function* ({ input }) {
    for (let i = 0; i < input.count; i++) yield { i };
  }),
};

export const orpc: Contestant = {
  async serve(host, certificate) {
    const [wss, port] = await listen(host, certificate);
    const handler = new RPCHandler(bench);
    wss.on("connection", (socket) => void handler.upgrade(socket));
    return port;
  },
  async connect(host, port, certificate) {
    const websocket = new (trusting(certificate))(`wss://${host}:${port}`);
    await new Promise<void>((resolve, reject) => websocket.once("open", resolve).once("error", reject));
    const client: RouterClient<typeof bench> = createORPCClient(new RPCLink({ websocket: websocket as never }));
    return {
      multiply: async (a, b) => (await client.multiply({ a, b })).pro,
      empty: () => client.empty(),
      // Bytes travel as a Blob, which oRPC carries without base64.
      async echo(bytes) {
        const back = await client.echo(new Blob([bytes as Uint8Array<ArrayBuffer>]));
        return new Uint8Array(await back.arrayBuffer());
      },
      wait: (ms) => client.wait({ ms }),
      async items(count) {
        let received = 0;
        for await (const _ of await client.items({ count })) received++;
        return received;
      },
      close: () => websocket.close(),
    };
  },
};
