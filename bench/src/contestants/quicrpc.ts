import type { CallOptions, TypedCaller, Router } from "@quicrpc/core";
import { createRouter, type MethodDescriptor } from "@quicrpc/core/generated";
import { connect, serve, type TransportProvider } from "@quicrpc/node";
import { type Certificate, type Client, type Contestant, service, Tally } from "../contestant.js";
import { createBenchClient, createBenchRouter } from "../generated/bench.js";
import { messagesMethods } from "../generated/messages.js";

/** The methods with larger messages. */
export type MessageMethods = Pick<typeof messagesMethods, "user" | "points">;

/** The transports that carry the calls. */
interface Over {
  readonly scheme?: "quic" | "https" | "tls" | "wss";
  readonly earlyData?: boolean;
  readonly transports?: readonly TransportProvider[];
  /** Default: the generated methods. */
  readonly messages?: MessageMethods;
}

/** quicrpc with validation of every message on both sides, in both directions. */
export function quicrpc(
  options: CallOptions,
  { scheme = "quic", earlyData = false, transports = [], messages = messagesMethods }: Over = {},
): Contestant {
  // Idle connections must not time out.
  const transport = { idleTimeoutMs: 0 };
  const over = { earlyData, transports, transport };
  const open = async (host: string, port: number, { hash }: Certificate): Promise<Client> => {
    const url = `${scheme}://${host}:${port}`;
    return clientOf(await connect(url, { serverCertificateHashes: [hash], advanced: over }), options, messages);
  };
  return {
    async serve(host, tls) {
      const { address } = await serve({
        listen: [`${scheme}://${host}:0`],
        tls,
        // A workload has 10,000 calls in progress, in stream mode each on its own stream: more than the defaults allow.
        limits: { maxCalls: 10_000, maxStreams: 10_100, maxSessionBytes: 128 * 2 ** 20 },
        routers: [routerOf(), echoes(messages)],
        advanced: { ...over, transport: { ...transport, maxSessions: 20_000, maxStreamsCeiling: 16_384 } },
      });
      return address.port;
    },
    connect: open,
    ...(earlyData && { resume: open }),
  };
}

function routerOf(): Router {
  const tally = new Tally();
  return createBenchRouter({
    multiply: ({ a, b }) => ({ pro: service.multiply(a, b) }),
    empty() {},
    echo: (bytes) => bytes,
    wait: ({ ms }) => service.wait(ms),
    tell: () => tally.tell(),
    told: async ({ expected }) => ({ count: await tally.told(expected) }),
    *items({ count }) {
      for (let i = 0; i < count; i++) yield { i };
    },
    async upload(chunks) {
      let bytes = 0;
      for await (const chunk of chunks) bytes += chunk.length;
      return { bytes };
    },
    pipe: (chunks) => chunks,
  });
}

function echoes({ user, points }: MessageMethods): Router {
  return createRouter({ user, points }, { user: (input) => input, points: (input) => input });
}

function clientOf(
  session: TypedCaller & { close(): Promise<unknown> },
  options: CallOptions,
  messages: MessageMethods,
): Client {
  const client = createBenchClient(session);
  return {
    multiply: async (a, b) => (await client.multiply({ a, b }, options)).pro,
    empty: () => client.empty(options),
    echo: (bytes) => client.echo(bytes, options),
    wait: (ms) => client.wait({ ms }, options),
    message: (of, value) => session.unary(messages[of] as MethodDescriptor<"unary">, value, options),
    async notify(count) {
      // A pause now and then, as any application has: what one turn sends is one write.
      for (let i = 0; i < count; i++) {
        const sent = client.tell({ i }, options);
        if (i % 512 === 511) await sent;
      }
      await client.told({ expected: count }, options);
    },
    async items(count) {
      let received = 0;
      for await (const _ of client.items({ count }, options)) received++;
      return received;
    },
    async upload(chunk, count) {
      const source = (function* () {
        for (let i = 0; i < count; i++) yield chunk;
      })();
      return (await client.upload(source, options)).bytes;
    },
    async pipe(chunk, count) {
      const { readable, writable } = client.pipe(options);
      const sent = (async () => {
        const writer = writable.getWriter();
        for (let i = 0; i < count; i++) {
          await writer.ready;
          void writer.write(chunk);
        }
        await writer.close();
      })();
      let bytes = 0;
      for await (const back of readable) bytes += back.length;
      await sent;
      return bytes;
    },
    close: async () => void (await session.close()),
  };
}

export const lane: Contestant = quicrpc({ via: "lane" });
export const stream: Contestant = quicrpc({ via: "stream" });
export const auto: Contestant = quicrpc({});
export const tls: Contestant = quicrpc({}, { scheme: "tls" });
export const webSocket: Contestant = quicrpc({}, { scheme: "wss" });
export const webTransport: Contestant = quicrpc({}, { scheme: "https" });
/** quicrpc with early data: empty calls are idempotent and leave with the first flight. */
export const early: Contestant = quicrpc({}, { earlyData: true });
