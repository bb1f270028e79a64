import { asError } from "../errors.js";
import { closeError } from "./close-codes.js";
import { type PacedAborts, pacedAborts } from "./paced-aborts.js";
import type {
  CloseInfo,
  DirectSession,
  DirectSessionHandler,
  DirectStream,
  DirectStreamHandler,
  TransportSession,
  WebTransportSession,
  WebTransportStream,
  Datagrams,
  WebTransportDatagrams,
} from "./session.js";
import { streamMaker, type WantedStream } from "./stream-maker.js";

/**
 * Wraps W3C datagrams in the direct interface. Returns undefined if the session has none or the application has locked
 * them.
 */
function webDatagrams(given: WebTransportDatagrams | undefined): Datagrams | undefined {
  const writable = given?.createWritable?.() ?? given?.writable;
  if (given === undefined || writable === undefined || writable.locked) return undefined;
  const writer = writable.getWriter();
  // The writer closes with the session, which reports the end elsewhere.
  writer.closed.catch(() => {});
  return {
    get maxSize() {
      return given.maxDatagramSize;
    },
    send(bytes) {
      if ((writer.desiredSize ?? 0) <= 0) return false;
      writer.write(bytes.slice()).catch(() => {});
      return true;
    },
  };
}

const made = new WeakMap<WebTransportDatagrams, Datagrams | undefined>();

/** Returns datagrams with the direct interface. W3C datagrams are wrapped once, since they have only one writer. */
export function directDatagrams(given: Datagrams | WebTransportDatagrams | undefined): Datagrams | undefined {
  if (given === undefined || "send" in given) return given;
  if (!made.has(given)) made.set(given, webDatagrams(given));
  return made.get(given);
}

async function readDatagrams(
  { readable }: WebTransportDatagrams,
  onDatagram: (bytes: Uint8Array) => void,
): Promise<void> {
  if (readable.locked) return;
  const reader = readable.getReader();
  for (;;) {
    const next = await reader.read().catch(() => undefined);
    if (next?.value === undefined) return;
    onDatagram(next.value);
  }
}

/**
 * Milliseconds to wait for the end of a session after one of its streams has ended without a reason. quicrpc servers
 * leave 250 ms between the two.
 */
const END_FOLLOWS_MS = 600;

/**
 * Returns a session with the direct interface: `session` itself if it has one, or a wrapper around its WHATWG streams.
 */
export function directSession(session: TransportSession): DirectSession {
  return "openStream" in session ? session : webSession(session);
}

function webSession(session: WebTransportSession): DirectSession {
  const streams = new Set<WebStream>();
  let ended = false;
  const maker = streamMaker(() => session.createBidirectionalStream());
  const aborts = pacedAborts(session);
  const add = (opening: Promise<WebTransportStream>, wanted?: WantedStream): DirectStream => {
    const stream = webStream(opening, wanted, aborts, () => streams.delete(stream));
    streams.add(stream);
    return stream;
  };
  const accept = async (
    reader: ReadableStreamDefaultReader<WebTransportStream>,
    handler: DirectSessionHandler,
  ): Promise<void> => {
    for (;;) {
      // A rejection means that the session has ended; `closed` reports how.
      const { value } = await reader.read();
      // Implementations may deliver streams after the session has ended; such a stream would not be notified of the
      // end.
      if (value === undefined || ended) return;
      handler.onStream(add(Promise.resolve(value)));
    }
  };
  return {
    attach(handler) {
      const { datagrams } = session;
      const end = (info: CloseInfo, error: Error | undefined): void => {
        ended = true;
        for (const stream of streams) stream.sessionClosed(error);
        streams.clear();
        maker.end();
        aborts.end();
        handler.onClosed(info, error);
      };
      // The reader is created at once, because that throws if the application is reading the streams.
      accept(session.incomingBidirectionalStreams.getReader(), handler).catch(nothing);
      if (datagrams !== undefined && handler.onDatagram !== undefined)
        void readDatagrams(datagrams, (data) => {
          if (!ended) handler.onDatagram?.(data);
        });
      session.closed.then(
        (info) => end(info ?? {}, closeError(info ?? {})),
        (error: unknown) => end({}, asError(error)),
      );
      // If `ready` rejects, so does `closed`, which is handled; `ready` must not become an unhandled rejection.
      session.ready.catch(nothing);
    },
    openStream() {
      const wanted = maker.make();
      return add(wanted.promise, wanted);
    },
    close: (info) => session.close(info),
  };
}

/** Number of written bytes that the platform has not accepted above which `write` returns false. */
const HIGH_WATER = 64 * 1024;

interface WebStream extends DirectStream {
  sessionClosed(error: Error | undefined): void;
}

/**
 * The reader and writer of a WHATWG stream pair. A `WebTransportSendStream` (W3C WebTransport §8) also has a
 * `sendOrder`.
 */
interface Opened {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly sink: WritableStream<Uint8Array> & { sendOrder?: number };
}

/**
 * Wraps one WHATWG stream pair in the direct interface.
 *
 * @param wanted the request to create the stream; undefined if the peer opened it
 * @param aborts sends the stream's reset and stop-sending
 * @param onDone called when both sides have ended
 */
function webStream(
  opening: Promise<WebTransportStream>,
  wanted: WantedStream | undefined,
  aborts: PacedAborts,
  onDone: () => void,
): WebStream {
  let opened: Opened | undefined;
  let waiting: ((opened: Opened) => void)[] = [];
  let handler: DirectStreamHandler | undefined;
  let sending = true;
  let receiving = true;
  let over = false;
  let isReset = false;
  let isStopped = false;
  /** Number of written bytes that the platform has not accepted. */
  let pending = 0;
  let drainAwaited = false;
  let paused = false;
  let wake = nothing;

  const doneIfBoth = (): void => {
    if (sending || receiving || over) return;
    over = true;
    // The stream was aborted before it was created, so it is not needed.
    if (wanted !== undefined && isReset && isStopped) wanted.dropped = true;
    onDone();
  };
  /**
   * Runs an action on the stream, now or when it has been opened. Ignores failures, because they also end the stream.
   */
  const act = (action: (opened: Opened) => Promise<unknown> | void): void => {
    if (opened === undefined) waiting.push((made) => void action(made)?.catch(nothing));
    else action(opened)?.catch(nothing);
  };
  /** Runs an action that sends a reset or a stop-sending. It waits if too many are unacknowledged. */
  const abort = (action: (opened: Opened) => Promise<unknown>): void =>
    act((made) => aborts.send(() => void action(made).catch(nothing)));
  const isHeld = (): boolean => paused && receiving;
  const receive = async ({ reader }: Opened, to: DirectStreamHandler): Promise<void> => {
    for (;;) {
      const next = await reader.read().catch((error: unknown) => ({ error }));
      while (isHeld()) await new Promise<void>((resolve) => (wake = resolve));
      if (!receiving) return;
      if ("error" in next) {
        withCode(next.error, (code) => end(() => to.onReset(code)));
        return;
      }
      if (next.done) {
        end(() => to.onEnd());
        return;
      }
      to.onData(next.value);
    }
  };
  const end = (tell: () => void): void => {
    if (!receiving || over) return;
    receiving = false;
    tell();
    doneIfBoth();
  };
  const onTaken = (bytes: number): void => {
    pending -= bytes;
    if (!drainAwaited || over || pending > HIGH_WATER) return;
    drainAwaited = false;
    handler?.onDrain();
  };
  const onSendingFailed = (error: unknown): void =>
    withCode(error, (code) => {
      if (over || isReset) return;
      sending = false;
      handler?.onStopSending(code);
      doneIfBoth();
    });

  const stream: WebStream = {
    attach(to) {
      handler = to;
      act((made) => receive(made, to));
    },
    write(bytes, isLast = false) {
      if (!sending) return true;
      sending = !isLast;
      const copy = bytes.slice();
      const { length } = copy;
      pending += length;
      act(({ writer }) => {
        // The stream can have been reset only while it was being created.
        if (isReset) return;
        const taken = (): void => onTaken(length);
        if (length > 0) writer.write(copy).then(taken, taken);
        if (!isLast) return;
        writer.close().catch(nothing);
        doneIfBoth();
      });
      drainAwaited ||= pending > HIGH_WATER;
      return !drainAwaited;
    },
    pendingBytes: () => pending,
    reset(code) {
      // After FIN a reset has no effect, because the bytes before the FIN are still to be sent.
      if (isReset || (!sending && opened !== undefined)) return;
      sending = false;
      isReset = true;
      abort(({ writer }) => writer.abort(streamError(code)));
      doneIfBoth();
    },
    stopSending(code) {
      isStopped = true;
      // A stream that has ended need not be stopped.
      if (receiving) abort(({ reader }) => reader.cancel(streamError(code)));
      receiving = false;
      wake();
      doneIfBoth();
    },
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
      wake();
    },
    setPriority(priority) {
      act(({ sink }) => {
        if ("sendOrder" in sink) sink.sendOrder = priority;
      });
    },
    sessionClosed(error) {
      if (over) return;
      over = true;
      sending = false;
      receiving = false;
      wake();
      handler?.onClosed(error);
    },
  };
  opening.then(
    ({ readable, writable }) => {
      const writer = writable.getWriter();
      writer.closed.catch(onSendingFailed);
      const made = { reader: readable.getReader(), writer, sink: writable };
      for (const action of waiting) action(made);
      opened = made;
      waiting = [];
    },
    (error: unknown) => {
      waiting = [];
      onDone();
      stream.sessionClosed(asError(error));
    },
  );
  return stream;
}

function nothing(): void {}

/**
 * Calls `tell` with the code of a stream's error: the code of a `WebTransportError` (W3C WebTransport §7), or 0.
 * Ignores an error whose source is the session, because `closed` reports that one. Browsers also report the end of a
 * session as an error without source or with code 0, so `tell` is then delayed until `closed` could have settled.
 */
function withCode(error: unknown, tell: (code: number) => void): void {
  const { source, streamErrorCode } = (error ?? {}) as { source?: unknown; streamErrorCode?: unknown };
  // Firefox sets `streamErrorCode` to a number that is not the code.
  if (source === "session") return;
  if (typeof streamErrorCode === "number" && streamErrorCode > 0) tell(streamErrorCode);
  else setTimeout(() => tell(0), END_FOLLOWS_MS);
}

type StreamError = Error & { readonly streamErrorCode?: number | null };

/**
 * Creates the error whose code `abort` and `cancel` send to the peer: a `WebTransportError` if the platform has that
 * class.
 */
export function streamError(code: number): Error {
  const init = { message: `stream error ${code}`, source: "stream", streamErrorCode: code };
  const { WebTransportError } = globalThis as { WebTransportError?: new (...args: unknown[]) => StreamError };
  // The specification's constructor takes a message and an object; some browsers have one that takes only the object.
  for (const args of [[init.message, init], [init]]) {
    try {
      const error = new (WebTransportError as new (...args: unknown[]) => StreamError)(...args);
      if (error.streamErrorCode === code) return error;
    } catch {
      // The platform has the other form of the constructor, or no such class.
    }
  }
  return Object.assign(new Error(), init);
}

/**
 * Resolves when the session is ready. If `signal` is aborted before that, the session is closed and the promise
 * rejects.
 */
export async function whenTransportReady(session: WebTransportSession, signal: AbortSignal): Promise<void> {
  // `ready` rejects with the same error, which the caller receives.
  session.closed.catch(() => {});
  const aborted = new Promise<never>((_, reject) => {
    const giveUp = (): void => {
      session.close();
      reject(signal.reason);
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp);
  });
  aborted.catch(() => {});
  await Promise.race([aborted, session.ready]);
}
