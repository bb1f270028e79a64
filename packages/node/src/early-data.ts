import { interceptCaller, type Interceptor, RpcError, type Session } from "@quicrpc/core";
import type { TransportSession } from "@quicrpc/core/transport";
import type { QuicSession } from "@quicrpc/quic";

/**
 * Wraps a session that may start before its handshake is complete. Until then, only calls of idempotent methods are
 * sent, because an attacker who records them can send them again (RFC 8470 §5.2 has the same rule for HTTP). Other
 * calls wait.
 */
export function delayEarlyCalls(session: Session<QuicSession>): Session<QuicSession> {
  const { transport } = session;
  if (!transport.early) return session;
  const hold: Interceptor = async (call, next) => {
    // If the handshake fails, the session ends, and the call fails with the session's error.
    if (transport.early && !call.method.idempotent) await transport.ready.catch(() => {});
    return next(call);
  };
  return interceptCaller(session, [hold]);
}

/** Returns true if the server accepted the session before its handshake was complete. */
export function isEarly(transport: TransportSession): boolean {
  return "early" in transport && transport.early === true;
}

/**
 * Interceptor that delays calls of methods that are not idempotent until the handshake is complete. If an attacker
 * sends recorded early data again, its handshake never completes. This protects the server even if a client sends such
 * calls in early data.
 */
export const runWhenProven: Interceptor = async (call, next) => {
  const session = call.context?.session as Session<QuicSession> | undefined;
  if (session?.transport.early === true && !call.method.idempotent) {
    await session.transport.ready.catch((cause: unknown) => {
      throw new RpcError("unavailable", "the handshake was not completed: the early call did not run", { cause });
    });
    call.signal?.throwIfAborted();
  }
  return next(call);
};
