// Two programs, each behind a NAT, that call each other directly: see docs/peers.md.
import { X509Certificate } from "node:crypto";
import { createSession, RpcError, type Router, type Session } from "@quicrpc/core";
import { type Peer, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { createCertificate, Endpoint, type QuicSession } from "@quicrpc/quic";
import { createMeetingClient, createMeetingRouter, type MeetingJoinOutput } from "./generated/meeting.js";

// #region meeting
type Address = NonNullable<Peer["remoteAddress"]>;
interface Waiting {
  readonly other: Omit<MeetingJoinOutput, "dials">;
  readonly leave: (output: MeetingJoinOutput) => void;
}

/** Serves a place where peers meet. It needs an address that both can reach, and sees only their addresses. */
export function serveMeetings(options: Pick<ServeOptions, "listen" | "tls">): Promise<Server> {
  const rooms = new Map<string, Waiting>();
  const meeting = createMeetingRouter<Address>({
    join({ room, hash }, { connection, signal }) {
      const me = { ...connection, hash };
      const first = rooms.get(room);
      if (first !== undefined) {
        rooms.delete(room);
        first.leave({ ...me, dials: false });
        return { ...first.other, dials: true };
      }
      return new Promise((leave, reject) => {
        const waiting = { other: me, leave };
        rooms.set(room, waiting);
        signal.addEventListener("abort", () => {
          if (rooms.get(room) === waiting) rooms.delete(room);
          reject(signal.reason);
        });
      });
    },
  });
  const authenticate = ({ remoteAddress }: Peer): Address => {
    if (remoteAddress === undefined) throw new RpcError("failed_precondition", "a peer needs an address");
    return remoteAddress; // as the NAT in front of the peer has made it
  };
  return serve({ ...options, routers: [meeting], authenticate });
}
// #endregion meeting

// #region meet
/** Protocol of quicrpc in the TLS handshake: docs/protocol.md. */
const ALPN = ["quicrpc/1"];
const PAUSE_MS = 250;

export interface MeetOptions {
  /** The meeting's server. */
  readonly at: { readonly host: string; readonly port: number; readonly hash: Uint8Array };
  readonly room: string;
  /** Called by the other peer. */
  readonly routers: readonly Router[];
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/** Connects to the other peer in a room. Either side can then call the routers of the other. */
export async function meet({ at, room, routers, signal }: MeetOptions): Promise<Session<QuicSession>> {
  const { tls, hash } = ownCertificate();
  // One socket for everything: a NAT opens a port for it, which the meeting sees and the other peer dials.
  const endpoint = Endpoint.bind({ host: "0.0.0.0" });
  try {
    const { host, port } = at;
    const meeting = createSession(await endpoint.connect({ host, port, alpn: ALPN, tls: trusting(at.hash), signal }));
    const other = await createMeetingClient(meeting).join({ room, hash }, { signal });
    void meeting.close();
    const transport = await (other.dials ? dialUntilReached(endpoint, other, signal) : accept(endpoint, other));
    const session = createSession(transport, { routers });
    void session.closed.then(() => endpoint.close());
    return session;
  } catch (error) {
    await endpoint.close();
    throw error;
  }

  /** Waits for the session that the other peer dials. */
  async function accept(endpoint: Endpoint, other: MeetingJoinOutput): Promise<QuicSession> {
    const accepted = new AbortController();
    const incoming = new Promise<QuicSession>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      endpoint.listen({ alpn: ALPN, tls }, (session) => {
        const { host, port } = session.remoteAddress;
        if (host === other.host && port === other.port) resolve(session);
        else session.close({ closeCode: 1, reason: "not the peer of this meeting" });
      });
    });
    // Nobody answers this dial. Its packets open this side's NAT for those of the other peer.
    const stop = AbortSignal.any([signal, accepted.signal]);
    const opening = dialUntilReached(endpoint, other, stop).catch(() => undefined);
    try {
      return await incoming;
    } finally {
      accepted.abort();
      await opening;
    }
  }
}

/** Dials the other peer until it answers. The first packets are lost if its NAT is not open yet. */
async function dialUntilReached(
  endpoint: Endpoint,
  other: MeetingJoinOutput,
  signal: AbortSignal,
): Promise<QuicSession> {
  const { host, port } = other;
  for (;;) {
    try {
      return await endpoint.connect({ host, port, alpn: ALPN, tls: trusting(other.hash), signal });
    } catch {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
// #endregion meet

function trusting(hash: Uint8Array) {
  return { serverCertificateHashes: [{ algorithm: "sha-256" as const, value: Uint8Array.from(hash) }] };
}

function ownCertificate() {
  const day = 86_400_000;
  const pem = createCertificate({
    commonName: "peer",
    hosts: ["peer.invalid"],
    validFrom: new Date(Date.now() - day),
    validTo: new Date(Date.now() + day),
  });
  const fingerprint = new X509Certificate(pem).fingerprint256.replaceAll(":", "");
  return { tls: { cert: pem, key: pem }, hash: Uint8Array.from(Buffer.from(fingerprint, "hex")) };
}
