import { createTRPCClient, createWSClient, type TRPCWebSocketClient, wsLink } from "@trpc/client";
import { initTRPC } from "@trpc/server";
import { applyWSSHandler } from "@trpc/server/adapters/ws";
import { z } from "zod";
import { service, type Contestant } from "../contestant.js";
import { listen, trusting } from "./websocket.js";

const { procedure, router } = initTRPC.create();
const bench = router({
  multiply: procedure
    .input(z.object({ a: z.int(), b: z.int() }))
    .output(z.object({ pro: z.int() }))
    .mutation(({ input: { a, b } }) => ({ pro: service.multiply(a, b) })),
  empty: procedure.mutation(() => {}),
  // tRPC carries JSON: bytes travel as base64, as its users send them.
  echo: procedure
    .input(z.string())
    .output(z.string())
    .mutation(({ input }) => input),
  wait: procedure.input(z.object({ ms: z.int() })).mutation(({ input }) => service.wait(input.ms)),
  items: procedure.input(z.object({ count: z.int() })).subscription(async function* ({ input }) {
    for (let i = 0; i < input.count; i++) yield { i };
  }),
});

export const trpc: Contestant = {
  async serve(host, certificate) {
    const [wss, port] = await listen(host, certificate);
    applyWSSHandler({ wss, router: bench });
    return port;
  },
  async connect(host, port, certificate) {
    const url = `wss://${host}:${port}`;
    const socket = await new Promise<TRPCWebSocketClient>((resolve, reject) => {
      const onOpen = (): void => resolve(opening);
      const opening = createWSClient({ url, WebSocket: trusting(certificate) as never, onOpen, onError: reject });
    });
    const client = createTRPCClient<typeof bench>({ links: [wsLink({ client: socket })] });
    return {
      multiply: async (a, b) => (await client.multiply.mutate({ a, b })).pro,
      empty: () => client.empty.mutate(),
      async echo(bytes) {
        const text = await client.echo.mutate(
          Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"),
        );
        return Buffer.from(text, "base64");
      },
      wait: (ms) => client.wait.mutate({ ms }),
      items: (count) =>
        new Promise((resolve, reject) => {
          let received = 0;
          client.items.subscribe(
            { count },
            { onData: () => received++, onComplete: () => resolve(received), onError: reject },
          );
        }),
      close: () => socket.close(),
    };
  },
};
