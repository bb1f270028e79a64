import { RpcError } from "@quicrpc/core";
import type { Awaitable } from "@quicrpc/core";
import type { Peer } from "./peer.js";

/** Decides who may have a session. The signal fires when the time for it is over. */
export type Authenticate<Context> = (peer: Peer, signal: AbortSignal) => Awaitable<Context>;

/** The result of `authenticate`; rejects with `deadline_exceeded` when it takes longer than `timeoutMs`. */
export async function authenticated<Context>(
  authenticate: Authenticate<Context>,
  peer: Peer,
  timeoutMs: number,
): Promise<Context> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new RpcError(
        "deadline_exceeded",
        `authentication took longer than ${timeoutMs} ms (limits.maxHandshakeMs)`,
      );
      controller.abort(error);
      reject(error);
    }, timeoutMs);
  });
  try {
    return await Promise.race([authenticate(peer, controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
