import { RpcError, type Session } from "@quicrpc/core";
import { publicUrl, untilAccepted } from "@quicrpc/core/internal";
import { isDenied } from "@quicrpc/core/transport";
import type { DialSettings } from "./dial.js";
import { transportError } from "./transport/failure.js";

/**
 * Options of `connect` and `connectPool` that `firstSession` uses: the client's credentials, and the signal that aborts
 * the wait.
 */
type Proof = Pick<DialSettings, "signal" | "credentials" | "headers" | "cert">;

/** Waits for the next session, up to `timeoutMs`. Resolves with undefined if the session has already ended. */
type Ready = (options: { signal: AbortSignal | undefined; timeoutMs: number }) => Promise<Session | undefined>;

/**
 * Waits for the first session. If this client sends credentials, also waits until the server has accepted them, because
 * a server can refuse a session only after the session has started.
 *
 * @param peer returns the server's name for errors; a pool has no name before its targets are known
 */
export async function firstSession(
  ready: Ready,
  peer: () => string,
  { signal, credentials, headers, cert }: Proof,
  timeoutMs: number,
): Promise<void> {
  const startedAt = Date.now();
  const remainingMs = (): number => timeoutMs - (Date.now() - startedAt);
  for (;;) {
    const session = await ready({ signal, timeoutMs: remainingMs() }).catch((error: Error) => {
      throw isDenied(error) ? refusalBy(peer(), error) : notTaken(error, peer(), signal);
    });
    if ((credentials ?? headers ?? cert) === undefined) return;
    if (session === undefined) {
      // The connection notices the end of its session only in a turn of the event loop.
      await new Promise(setImmediate);
      continue;
    }
    const timeout = AbortSignal.timeout(Math.max(0, Math.ceil(remainingMs())));
    const aborted = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    try {
      await untilAccepted(session, aborted);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if (isDenied(error as Error)) throw refusalBy(peer(), error as RpcError);
      if (timeout.aborted) throw silenceOf(peer(), timeoutMs, error);
      // The same session may be offered again until it has ended. Without a turn of the event loop in between, this
      // would loop forever.
      await Promise.race([session.closed, new Promise((resolve) => aborted.addEventListener("abort", resolve))]);
    }
  }
}

function refusalBy(peer: string, { code, message, cause }: RpcError): RpcError {
  return new RpcError(code, `${peer} refused the session: ${message}`, {
    refused: true,
    cause,
    hint: "check the options credentials, headers and cert",
  });
}

/** Creates the error for a server that accepted connections, but closed every session before it sent any data. */
function notTaken(error: Error, peer: string, signal: AbortSignal | undefined): unknown {
  // A pool with several targets, or none, has no URL.
  if (error instanceof RpcError || !URL.canParse(peer)) return error;
  return transportError(error, { action: "connect to", url: publicUrl(new URL(peer)), hint: NOT_TAKEN }, signal);
}

const NOT_TAKEN =
  "the session ended before the server had accepted it; another program or protocol may use this port: check the URL's scheme and port";

function silenceOf(peer: string, timeoutMs: number, cause: unknown): RpcError {
  const text = `${peer} did not accept or refuse the session within ${timeoutMs} ms`;
  return new RpcError("unavailable", text, { cause, hint: "check what the server's `authenticate` waits for" });
}
