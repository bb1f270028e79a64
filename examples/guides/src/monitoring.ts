// Monitoring: see docs/monitoring.md.
import {
  type Caller,
  type Connection,
  createSession,
  interceptCaller,
  interceptRouter,
  logging,
  retry,
  type Router,
  type Session,
} from "@quicrpc/core";
import { type CallTimings, callTimings, describeFrame, sessionStats, tapFrames } from "@quicrpc/core/measure";
import { messagePortTransport } from "@quicrpc/core/transport";
import { serve, type ServeOptions, type Server } from "@quicrpc/node";
import { metrics, tracing } from "@quicrpc/otel";
import { pino } from "pino";
import { type ArithClient, type ArithHandlers, createArithClient, createArithRouter } from "./generated/arith.js";

export async function serveLogged(
  port: number,
  tls: NonNullable<ServeOptions["tls"]>,
  routers: readonly Router[],
): Promise<Server> {
  // #region log
  const server = await serve({ port, tls, routers, interceptors: [logging(console)] });
  // #endregion log
  return server;
}

export async function serveWatched(tls: NonNullable<ServeOptions["tls"]>, routers: readonly Router[]): Promise<Server> {
  // #region calls
  const interceptors = [tracing(), metrics(), logging(pino())];
  const server = await serve({ port: 4433, tls, routers, interceptors });
  // #endregion calls
  return server;
}

export function traced(
  session: Session,
  handlers: ArithHandlers,
): { readonly arith: ArithClient; readonly router: Router } {
  // #region traced
  const arith = createArithClient(interceptCaller(session, [tracing(), metrics()]));
  const router = interceptRouter(createArithRouter(handlers), [tracing(), metrics()]);
  // #endregion traced
  return { arith, router };
}

export function tapped(port: MessagePort, routers: readonly Router[]): Session {
  // #region frames
  const transport = tapFrames(messagePortTransport(port, "client"), ({ direction, frame }) =>
    console.log(direction, describeFrame(frame)),
  );
  const session = createSession(transport, { routers });
  // #endregion frames
  return session;
}

export function timedCaller(connection: Connection, record: (method: string, timings: CallTimings) => void): Caller {
  // #region timings
  const measured = interceptCaller(connection, [
    retry(),
    callTimings((timings, call) => record(call.method.name, timings)),
  ]);
  // #endregion timings
  return measured;
}

export async function showStats({ session }: Connection): Promise<void> {
  // #region stats
  // connection.session: undefined while there is none
  if (session !== undefined) {
    const { rttMs, lostPackets, congestionWindow } = await sessionStats(session);
    console.log(`${rttMs} ms, ${lostPackets} packets lost, window ${congestionWindow}`);
  }
  // #endregion stats
}
