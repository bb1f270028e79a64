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

/** The direct interface of W3C datagrams; undefined if the session has none or the application has locked them. */
function webDatagrams(given: WebTransportDatagrams | undefined): Datagrams | undefined {
  const writable = given?.createWritable?.() ?? given?.writable;
  if (given === undefined || writable === undefined || writable.locked) return undefined;
  const writer = writable.getWriter();
  // Its end is the session's, which is reported there.
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

/** The direct interface of either kind of datagrams; of W3C ones there is one writer. */
export function directDatagrams(given: Datagrams | WebTransportDatagrams | undefined): Datagrams | undefined {
  if (given === undefined || "send" in given) return given;
  if (!made.has(given)) made.set(given, webDatagrams(given));
  return made.get(given);
}

/** Passes on received datagrams, until the session ends. */
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
 * Milliseconds to wait for a session's end after a stream has ended without a reason. This project's servers leave 250
 * ms between the two.
 */
const END_FOLLOWS_MS = 600;

/** The direct interface of any session: its own, or one laid over its WHATWG streams. */
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
      // Implementations may still deliver streams that arrived before the session ended; such a stream would never be
      // told of the end.
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
      // At once: this throws if the application is reading the streams.
      accept(session.incomingBidirectionalStreams.getReader(), handler).catch(nothing);
      if (datagrams !== undefined && handler.onDatagram !== undefined)
        void readDatagrams(datagrams, (data) => {
          if (!ended) handler.onDatagram?.(data);
        });
      session.closed.then(
        (info) => end(info ?? {}, closeError(info ?? {})),
        (error: unknown) => end({}, asError(error)),
      );
      // A failed `ready` fails `closed` as well; it must not surface as an unhandled rejection.
      session.ready.catch(nothing);
    },
    openStream() {
      const wanted = maker.make();
      return add(wanted.promise, wanted);
    },
    close: (info) => session.close(info),
  };
}

/** Written bytes that the platform has not taken above which `write` returns false. */
const HIGH_WATER = 64 * 1024;

interface WebStream extends DirectStream {
  sessionClosed(error: Error | undefined): void;
}

/** The parts of a WHATWG stream pair. A `WebTransportSendStream` (W3C WebTransport §8) has a `sendOrder`. */
interface Opened {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly sink: WritableStream<Uint8Array> & { sendOrder?: number };
}

/**
 * One WHATWG stream pair behind the direct interface.
 *
 * @param wanted the stream's place among those that are to be made
 * @param aborts sends its reset and its stop-sending
 * @param onDone called when both sides are over
 */
function webStream(
  opening: Promise<WebTransportStream>,
  wanted: WantedStream | undefined,
  aborts: PacedAborts,
  onDone: () => void,
): WebStream {
  let opened: Opened | undefined;
  /** Tasks for when the stream is there, in the order they were asked for. */
  let waiting: ((opened: Opened) => void)[] = [];
  let handler: DirectStreamHandler | undefined;
  let sending = true;
  let receiving = true;
  let over = false;
  let isReset = false;
  let isStopped = false;
  /** Written bytes that the platform has not taken. */
  let pending = 0;
  let drainAwaited = false;
  let paused = false;
  let wake = nothing;

  const doneIfBoth = (): void => {
    if (sending || receiving || over) return;
    over = true;
    // Aborted before it was made.
    if (wanted !== undefined && isReset && isStopped) wanted.dropped = true;
    onDone();
  };
  /** Runs an action on the stream, now or after it was opened. A failure ends the stream, which reports it. */
  const act = (action: (opened: Opened) => Promise<unknown> | void): void => {
    if (opened === undefined) waiting.push((made) => void action(made)?.catch(nothing));
    else action(opened)?.catch(nothing);
  };
  /** Runs `act`, which sends a reset or a stop-sending. */
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
  /** Ends the receiving side. `tell` reports how, unless the stream is over. */
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
        // Only a stream that is being made can have been aborted meanwhile.
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
      // After a FIN a reset does nothing: the bytes before the FIN are still to be sent.
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
 * Calls `tell` with the code of a stream's error: the code of a `WebTransportError` (W3C WebTransport §7), or 0. If the
 * error's source is the session, it is ignored: `closed` follows with the reason. An error without source or with code
 * 0 may also be caused by the end of the session (browsers report such a reset that way), so `tell` is delayed until
 * `closed` could have settled.
 */
function withCode(error: unknown, tell: (code: number) => void): void {
  const { source, streamErrorCode } = (error ?? {}) as { source?: unknown; streamErrorCode?: unknown };
  // Firefox sets a number that is not a stream's error code.
  if (source === "session") return;
  if (typeof streamErrorCode === "number" && streamErrorCode > 0) tell(streamErrorCode);
  else setTimeout(() => tell(0), END_FOLLOWS_MS);
}

type StreamError = Error & { readonly streamErrorCode?: number | null };

/**
 * Creates the error that `abort` and `cancel` need to send a code: a `WebTransportError` if the platform has that
 * class.
 */
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

/** Resolves when the session is ready. When `signal` aborts before, or has before the call, the session is closed. */
export async function whenTransportReady(session: WebTransportSession, signal: AbortSignal): Promise<void> {
  // The caller receives the error from `ready`.
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
