import { interceptCaller, type Interceptor, type Session } from "@quicrpc/core";
import type { QuicSession } from "@quicrpc/quic";

/**
 * A session that may have begun before its handshake is complete: only calls of idempotent methods are made until it is,
 * since whoever recorded them can send them again (RFC 8470 §5.2 asks the same of HTTP).
 */
export function heldWhileEarly(session: Session<QuicSession>): Session<QuicSession> {
  const { transport } = session;
  if (!transport.early) return session;
  const hold: Interceptor = async (call, next) => {
    // Should the handshake fail, the session ends, and so says the call.
    if (transport.early && !call.method.idempotent) await transport.ready.catch(() => {});
    return next(call);
  };
  return interceptCaller(session, [hold]);
}
