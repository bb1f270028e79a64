import { type ClientSession, createSession, createStreamSession, ServerLoad, type Session } from "@quicrpc/core";
import type { TransportSession, WebTransportSession } from "@quicrpc/core/transport";
import type { QuicSession } from "@quicrpc/quic";
import type { LocalKind } from "./kinds.js";
import { notHere, type Reasons, skipExcepted } from "./not-here.js";
import { Witness } from "./service.js";
import { measured, sessionOptions } from "./session-options.js";
import { joinQuic, webFace } from "./transports.js";

/** Titles of tests that a stream session cannot pass, and why. */
const EXCEPTIONS: Reasons = [
  [/^C15 |: a call that calls back$/, "a stream session serves nothing"],
  [/^C62 by lane|^C65 the peer's/, "the test is of lanes"],
  [/^C64 the side that makes the calls drains/, "a stream session does not drain"],
  [/^C64 the side that drains says/, "a stream session heals by nothing that follows an address"],
];

/** `session`, but for the methods that it lacks: a test that calls them is skipped. */
function asSession(session: ClientSession): Session {
  const lacking = (): Promise<never> => notHere("a stream session neither drains nor pings");
  return Object.assign(session, {
    drain: lacking,
    demandCredentials: lacking,
    ping: lacking,
    rttMs: undefined,
    departure: undefined,
  });
}

/** Only what browsers have. */
function webTransport(session: QuicSession): TransportSession {
  return { ...webFace(session), datagrams: session.datagrams };
}

/** A client by `createStreamSession`, over what browsers have, and a server by `createSession`. */
export const streamSessions: LocalKind = {
  name: "a stream for each call",
  join: joinQuic("webTransport", "loop"),
  face: (transport) => webTransport(transport as QuicSession),
  async connect(limits = {}, { client: own = {}, server: theirs, witness = new Witness(), wrap, maxStreams } = {}) {
    await skipExcepted(EXCEPTIONS);
    const { limits: ownLimits = limits, prefix, via: _via, ...others } = own;
    if (Object.keys(others).length > 0) await notHere("a stream session only calls, in MessagePack");
    const joined = await joinQuic("webTransport", "loop")(maxStreams === undefined ? {} : { maxStreams });
    const [far, near] = [joined.server, webTransport(joined.client)];
    const load = new ServerLoad();
    const server = createSession(wrap?.(far, "server") ?? far, { load, ...sessionOptions(witness, limits, theirs) });
    const transport = wrap?.(near, "client") ?? near;
    const client = createStreamSession(transport as WebTransportSession, {
      limits: ownLimits,
      ...(prefix !== undefined && { prefix }),
    });
    return {
      client: asSession(client),
      server,
      witness,
      serverLoad: () => measured(load),
      transport,
      async close() {
        await client.close();
        await joined.release();
      },
    };
  },
};
