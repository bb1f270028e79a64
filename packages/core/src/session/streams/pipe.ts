import { asError, ProtocolError, RpcError } from "../../errors.js";
import type { StreamLimits } from "../../limits.js";
import { lostCall } from "../../transport/close-codes.js";
import { describeReset } from "../../transport/reset-codes.js";
import type { WebTransportStream } from "../../transport/session.js";
import { streamError, withCode } from "../../transport/stream-errors.js";
import type { Frame } from "../../wire/frame.js";
import { frameReader } from "./frames.js";
import * as ResetCode from "../../transport/reset-code.js";

/** Written bytes that the platform has not taken above which a writer is to wait. */
const HIGH_WATER = 64 * 1024;
/** The code of a stream that is given up although nothing is wrong. */
const NO_ERROR = 0;

/** What the streams of a session share. */
export interface PipeSettings {
  readonly limits: StreamLimits;
  /** Told of the bytes that unfinished frames hold, more or fewer. Throws `ProtocolError` where that is too much for a session. */
  readonly spend: (bytes: number) => void;
}

/** What a stream tells its owner. */
export interface PipeHandler {
  /** Whether frames are to wait; asked anew by `poke`. */
  readonly paused: boolean;
  /** Throws `ProtocolError` to give the stream up. */
  onFrame(frame: Frame): void;
  /** Nothing more comes: the error, or undefined after FIN. Not called where this side has given the stream up. */
  onOver?(error: RpcError | undefined): void;
  /** The peer takes no more. */
  onStopped(): void;
  /** There is room for more to be written. */
  onRoom?(): void;
}

/** One bidirectional stream as frames, both ways. */
export interface Pipe {
  /** Whether little of what was written waits. */
  readonly room: boolean;
  /** Sends `bytes`, and FIN with `end`. */
  write(bytes: Uint8Array, end?: boolean): void;
  /** Gives the sending side up, unless it has ended. */
  abandon(code?: number): void;
  /** Gives both sides up. */
  cancel(code?: number): void;
  /** The session has ended. */
  close(error: RpcError): void;
  poke(): void;
}

interface Both {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
}

function nothing(): void {}

/**
 * Drives a stream of the platform's.
 *
 * @param onDone called once, when the stream is done with; with true after the peer's FIN
 * @param sort takes bytes until it returns those from which on there are frames
 */
export function openPipe(
  opening: Promise<WebTransportStream>,
  { limits, spend }: PipeSettings,
  handler: PipeHandler,
  onDone: (isReceived: boolean) => void,
  sort?: (bytes: Uint8Array) => Uint8Array | undefined,
): Pipe {
  const made: Promise<Both> = opening.then(({ readable, writable }) => ({
    reader: readable.getReader(),
    writer: writable.getWriter(),
  }));
  const frames = frameReader(limits, spend, (frame) => handler.onFrame(frame));
  /** Once it is made; what fails then, ends the stream, which says so itself. */
  const once = (act: (made: Both) => Promise<void>): void => void made.then(act).catch(nothing);
  let sending = true;
  let over = false;
  let isReceived = false;
  let pending = 0;
  let wake: () => void = nothing;
  const isPaused = (): boolean => handler.paused && !over;

  const pipe: Pipe = {
    get room() {
      return pending <= HIGH_WATER;
    },
    write(bytes, end) {
      if (!sending) return;
      sending = end !== true;
      pending += bytes.length;
      const sent = (): void => {
        pending -= bytes.length;
        if (pipe.room && !over) handler.onRoom?.();
        wake();
      };
      made
        .then(({ writer }) => {
          const written = writer.write(bytes);
          if (end) writer.close().catch(nothing);
          return written;
        })
        .then(sent, sent);
    },
    abandon(code = NO_ERROR) {
      if (!sending) return;
      sending = false;
      once(({ writer }) => writer.abort(streamError(code)));
    },
    cancel(code = NO_ERROR) {
      pipe.abandon(code);
      if (over) return;
      over = true;
      frames.stop();
      wake();
      onDone(isReceived);
      once(({ reader }) => reader.cancel(streamError(code)));
    },
    close: end,
    poke: () => wake(),
  };
  /** The receiving side has ended, not by this side's doing. */
  function end(error?: RpcError, code?: number): void {
    if (over) return;
    pipe.abandon(code);
    isReceived = error === undefined;
    handler.onOver?.(error);
    pipe.cancel(code);
  }
  const take = (bytes: Uint8Array): void => {
    const rest = sort === undefined ? bytes : sort(bytes);
    if (rest === undefined) return;
    sort = undefined;
    frames.push(rest);
  };
  const receive = async (): Promise<void> => {
    const { reader, writer } = await made;
    writer.closed.catch((error: unknown) =>
      withCode(error, () => {
        if (over) return;
        sending = false;
        handler.onStopped();
      }),
    );
    for (;;) {
      const next = await reader.read().catch((error: unknown) => ({ error }));
      while (isPaused()) await new Promise<void>((resolve) => (wake = resolve));
      if (over) return;
      if ("error" in next) {
        withCode(next.error, (number) => {
          const { code, message, refused } = describeReset(number);
          end(new RpcError(code, message, { refused }), number);
        });
        return;
      }
      try {
        if (next.value !== undefined) {
          take(next.value);
        } else if (frames.midFrame || sort !== undefined) {
          throw new ProtocolError("the stream ends within a frame");
        } else {
          end();
        }
      } catch (error) {
        end(
          new RpcError("internal", `protocol error: ${asError(error).message}`, { cause: error }),
          ResetCode.ProtocolError,
        );
      }
    }
  };
  receive().catch((error: unknown) => end(lostCall(asError(error))));
  return pipe;
}
