// A transport with both halves: see docs/extensions.md.
import { createMemoryPair, type DirectSession } from "@quicrpc/core/transport";
import type { TransportProvider } from "@quicrpc/node";

/** Sessions within the process, by the host of a URL such as `here://orders`. */
export function inProcess(): TransportProvider {
  const listening = new Map<string, (session: DirectSession) => void>();
  return {
    name: "this process",
    schemes: ["here:"],
    capabilities: { sessions: true, streams: true, datagrams: true },
    dial: async ({ host }) => {
      const accept = listening.get(host);
      if (accept === undefined) throw new Error(`nobody listens on here://${host}`);
      const [client, server] = createMemoryPair();
      accept(server);
      return client;
    },
    listen: async ({ host = "" }, { limits }, onIncoming) => {
      const url = `here://${host}`;
      listening.set(host, (transport) =>
        onIncoming({
          transport,
          peer: {
            transport: "here",
            listener: url,
            remoteAddress: undefined,
            headers: new Headers(),
            path: undefined,
            origin: undefined,
            certificate: undefined,
            earlyData: false,
            handshake: Promise.resolve(),
          },
          // There is room for every session, and no data that is held back until then.
          pending: {
            remainingMs: limits.maxHandshakeMs,
            arrived() {},
            onGone() {},
            admit: () => true,
            refuse() {},
          },
        }),
      );
      const stop = (): void => void listening.delete(host);
      return [{ url, address: undefined, stop, close: async () => stop(), ref() {}, unref() {} }];
    },
  };
}
