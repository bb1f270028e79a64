import { RpcError } from "@quicrpc/core";
import type { Awaitable, Limits } from "@quicrpc/core";
import type { Peer } from "./peer.js";

/** Decides who may have a session. The signal fires when the time for it is over. */
export type Authenticate<Context> = (peer: Peer, signal: AbortSignal) => Awaitable<Context>;

/** The result of `authenticate`; rejects with `deadline_exceeded` when it takes longer than `timeoutMs`, what is left of `maxHandshakeMs`. */
export async function authenticated<Context>(
  authenticate: Authenticate<Context>,
  peer: Peer,
  timeoutMs: number,
  { maxHandshakeMs }: Limits,
): Promise<Context> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new RpcError(
        "deadline_exceeded",
        `the session was not authenticated within ${maxHandshakeMs} ms of its connection (limits.maxHandshakeMs)`,
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
