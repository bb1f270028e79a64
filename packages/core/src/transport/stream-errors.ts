/**
 * Milliseconds in which a session's end follows the ends of its streams, where those do not say that they come of it: servers of this project
 * leave 250 between the two.
 */
const END_FOLLOWS_MS = 600;

/**
 * Calls `tell` with the code of a stream's error: that of a `WebTransportError` (W3C WebTransport §7), or 0 where it has
 * none. One whose source is the session says that this is over: `closed` follows, and has the reason. One without source or with
 * code 0, by which browsers tell a reset that means the same, may come of the session's end too, so `closed` gets to speak first.
 */
export function withCode(error: unknown, tell: (code: number) => void): void {
  const { source, streamErrorCode } = (error ?? {}) as { source?: unknown; streamErrorCode?: unknown };
  // Firefox puts a number there that is no code of a stream.
  if (source === "session") return;
  if (typeof streamErrorCode === "number" && streamErrorCode > 0) tell(streamErrorCode);
  else setTimeout(() => tell(0), END_FOLLOWS_MS);
}

type StreamError = Error & { readonly streamErrorCode?: number | null };

/** Makes the error with which `abort` and `cancel` send a code: a `WebTransportError` where the platform has it. */
export function streamError(code: number): Error {
  const init = { message: `stream error ${code}`, source: "stream", streamErrorCode: code };
  const { WebTransportError } = globalThis as { WebTransportError?: new (...args: unknown[]) => StreamError };
  // The specification's constructor takes a message and an init; browsers still have one that takes the init alone.
  for (const args of [[init.message, init], [init]]) {
    try {
      const error = new (WebTransportError as new (...args: unknown[]) => StreamError)(...args);
      if (error.streamErrorCode === code) return error;
    } catch {
      // The other form, then, or no such class.
    }
  }
  return Object.assign(new Error(), init);
}
