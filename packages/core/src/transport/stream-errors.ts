/**
 * Calls `tell` with the code of a stream's error: that of a `WebTransportError` (W3C WebTransport §7), or 0 where it has
 * none. One whose source is the session says that this is over: `closed` follows, and has the reason. Where there is no
 * source the session may be ending too, so `closed` gets to speak first.
 */
export function withCode(error: unknown, tell: (code: number) => void): void {
  const { source, streamErrorCode } = (error ?? {}) as { source?: unknown; streamErrorCode?: unknown };
  if (typeof streamErrorCode === "number") tell(streamErrorCode);
  else if (source !== "session") setTimeout(() => tell(0), 0);
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
