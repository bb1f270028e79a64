import type { CallContext } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { type DevCertificate, serve, type Server } from "@quicrpc/node";
import { methods } from "../behaviour/service.js";

const { echo } = methods;

/** Serves calls that return the proof of their page, over WebTransport and WebSocket. */
export function serveProofs({ cert, key }: DevCertificate): Promise<Server> {
  return serve({
    listen: ["https://127.0.0.1:0/rpc"],
    webSocket: true,
    tls: { cert, key },
    routers: [createRouter({ echo }, { echo: (_, { connection }: CallContext) => ({ text: connection as string }) })],
    authenticate: async ({ credentials, proof }) => JSON.stringify([await credentials, await proof]),
  });
}

/** Result of `prove` in `page/proof.ts`. */
export interface Proven {
  readonly found: readonly [string, { thumbprint: string; bound: boolean; audience: string; algorithm: string }];
  readonly thumbprint: string;
  readonly extractable: boolean;
  /** Whether the platform shows keying material. */
  readonly exports: boolean;
}
