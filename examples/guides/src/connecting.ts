// Connections: see docs/connecting.md.
import type { Duplex } from "node:stream";
import type { Connection } from "@quicrpc/core";
import { connect, nodeStreamTransport, type TransportProvider } from "@quicrpc/node";

export async function connectAnyhow(quicUrl: string, wssUrl: string): Promise<Connection> {
  // #region fallback
  const connection = await connect(quicUrl, {
    fallback: { url: wssUrl, onFallback: (reason) => console.warn(reason.message) },
  });
  // #endregion fallback
  return connection;
}

export async function follow(connection: Connection): Promise<void> {
  // #region states
  for await (const state of connection.states()) console.log(state.status); // the present state, then each change
  // #endregion states
}

export async function connectByLine(openLine: (path: string) => Promise<Duplex>): Promise<Connection> {
  // #region provider
  const serial: TransportProvider = {
    name: "a serial line",
    schemes: ["serial:"],
    abilities: { sessions: true },
    dial: async ({ pathname }) => {
      const line = await openLine(pathname); // a stream.Duplex
      return nodeStreamTransport({ readable: line, writable: line }, "client");
    },
  };
  const connection = await connect("serial:/dev/ttyUSB0", { transports: [serial] });
  // #endregion provider
  return connection;
}
