// Wire formats of messages: see docs/codecs.md.
import { createSession, json, type Router, type Session, type SessionOptions } from "@quicrpc/core";
import { msgpackRecords } from "@quicrpc/core/records";
import { dial, nodeCompressions } from "@quicrpc/node";

export async function dialJson(): Promise<Session> {
  // #region json
  const session = await dial("quic://localhost:4433", { advanced: { codec: json } });
  // #endregion json
  return session;
}

export function acceptRecords(transport: Parameters<typeof createSession>[0], routers: readonly Router[]): Session {
  // #region records
  const records = msgpackRecords([["id", "item"]]); // needs msgpackr: npm install msgpackr
  const session = createSession(transport, { routers, codecs: [records] }); // what callers may choose
  // #endregion records
  return session;
}

export async function dialCompressed(url: string): Promise<Session> {
  // #region compression
  const session = await dial(url, { advanced: { compression: { algorithms: nodeCompressions(), minBytes: 4096 } } });
  // #endregion compression
  return session;
}

/** Options of a caller that uses the same codec. */
export const callerOfRecords: SessionOptions = { codec: msgpackRecords([["id", "item"]]) };
