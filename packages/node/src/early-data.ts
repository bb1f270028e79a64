import { interceptCaller, type Interceptor, RpcError, type Session } from "@quicrpc/core";
import type { TransportSession } from "@quicrpc/core/transport";
import type { QuicSession } from "@quicrpc/quic";

/**
 * Wraps a session that may have started before its handshake was complete. Until it is complete, only calls of
 * idempotent methods are made: an attacker who records them can send them again (RFC 8470 §5.2 requires the same for
 * HTTP).
 */
export function delayEarlyCalls(session: Session<QuicSession>): Session<QuicSession> {
  const { transport } = session;
  if (!transport.early) return session;
  const hold: Interceptor = async (call, next) => {
    // Should the handshake fail, the session ends, and so says the call.
    if (transport.early && !call.method.idempotent) await transport.ready.catch(() => {});
    return next(call);
  };
  return interceptCaller(session, [hold]);
}

/** Returns true if an accepted session started before its handshake was complete. */
export function isEarly(transport: TransportSession): boolean {
  return "early" in transport && transport.early === true;
}

/**
 * Delays calls of methods that are not idempotent until the handshake is complete. A recorded flight that is sent again
 * never completes it. This protects the server even from clients that send such calls early.
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
