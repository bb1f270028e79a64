import { serve, type Server } from "@quicrpc/node";
import { RpcError, rpcError } from "@quicrpc/core";
import { createProtocolRouter, protocolMethods } from "./generated/values.js";

/** Serves what a client in another language calls, over TCP and WebTransport. */
export function serveProtocol(tls: { readonly cert: string; readonly key: string }): Promise<Server> {
  const noted: string[] = [];
  const waits = { now: 0, cancelled: 0 };
  const router = createProtocolRouter({
    echo: (values) => values,
    nested: levelsOf,
    async *count({ to }) {
      for (let i = 0; i < to; i++) yield { i, pad: "x".repeat(2000) };
    },
    async sum(numbers) {
      let total = 0;
      for await (const number of numbers) total += number;
      return total;
    },
    async *talk(words) {
      for await (const word of words) yield word.toUpperCase();
    },
    copy: (pieces) => pieces,
    refuse() {
      throw rpcError(protocolMethods.refuse, "TOO_MUCH", { most: 5n });
    },
    wait: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        waits.now++;
        signal.addEventListener("abort", () => {
          waits.now--;
          waits.cancelled++;
          reject(RpcError.from(signal.reason));
        });
      }),
    waits: () => waits,
    note: (text) => void noted.push(text),
    noted(_, { metadata, responseMetadata, trailers }) {
      for (const [key, value] of metadata) responseMetadata.append(key, value);
      trailers.set("last", "word");
      return noted;
    },
    leave() {
      for (const session of server.sessions) void session.drain();
    },
  });
  let server: Server;
  return serve({ listen: ["tcp://127.0.0.1:0", "https://127.0.0.1:0"], tls, routers: [router] }).then(
    (started) => (server = started),
  );
}

function levelsOf(value: unknown): number {
  return Array.isArray(value) ? 1 + levelsOf(value[0]) : 0;
}
