import { interceptCaller, type Interceptor, RpcError, type Session } from "@quicrpc/core";
import type { TransportSession } from "@quicrpc/core/transport";
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

/** Whether a session that was accepted has begun before its handshake is complete. */
export function isEarly(transport: TransportSession): boolean {
  return "early" in transport && transport.early === true;
}

/**
 * Around what a server serves of such a session: calls of methods that are not idempotent run once the handshake is
 * complete, which a recorded flight that is sent again never makes it be. What the client holds back is its own affair.
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
