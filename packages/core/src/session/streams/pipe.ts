import { asError, codeNumber, ProtocolError, RpcError } from "../../errors.js";
import type { Limits } from "../../limits.js";
import { lostCall } from "../../transport/close-codes.js";
import { describeReset, ResetCode } from "../../transport/reset-codes.js";
import type { WebTransportStream } from "../../transport/session.js";
import { streamError, withCode } from "../../transport/stream-errors.js";
import type { Frame } from "../../wire/frame.js";
import type { ReadBudget } from "../../wire/reader.js";
import { frameReader } from "./frames.js";

/** Written bytes that the platform has not taken above which a writer is to wait. */
const HIGH_WATER = 64 * 1024;

/** What the streams of a session share. */
export interface PipeSettings {
  readonly limits: Limits;
  readonly budget: ReadBudget;
  /** What each stream begins with, before its kind. */
  readonly prefix: Uint8Array;
}

/** What a stream tells its owner. */
export interface PipeHandler {
  onFrame(frame: Frame): void;
  /** Nothing more comes: the error, or undefined after FIN. Not called where this side has given the stream up. */
  onOver(error: RpcError | undefined): void;
  /** The peer takes no more. */
  onStopped(): void;
  /** There is room for more to be written. */
  onRoom(): void;
  /** Whether frames are to wait; asked anew by `poke`. */
  readonly paused: boolean;
  /** The stream is done with, whichever way. The last call. */
  onDone(): void;
}

/** One bidirectional stream as frames, both ways, over the platform's own streams. */
export interface Pipe {
  /** Whether little of what was written waits. */
  readonly room: boolean;
  /** Sends `bytes`, and FIN with `end`. */
  write(bytes: Uint8Array, end?: boolean): void;
  /** Gives the sending side up, unless it has ended. */
  abandon(code: number): void;
  /** Gives the stream up. */
  cancel(code: number): void;
  /** The session has ended. */
  close(error: RpcError): void;
  poke(): void;
  setPriority(priority: number): void;
}

function nothing(): void {}

/** @param sort takes the first bytes, and returns those of frames once the stream's owner is known; throws `ResetCode`s */
export function openPipe(
  opening: Promise<WebTransportStream>,
  { limits, budget }: PipeSettings,
  handler: PipeHandler,
  sort?: (bytes: Uint8Array) => Uint8Array | undefined,
): Pipe {
  const made = opening.then(({ readable, writable }) => ({
    reader: readable.getReader(),
    writer: writable.getWriter(),
    writable: writable as WritableStream<Uint8Array> & { sendOrder?: number },
  }));
  const frames = frameReader(limits, budget, (frame) => handler.onFrame(frame));
  let sending = true;
  let over = false;
  let pending = 0;
  let wake: () => void = nothing;

  const finish = (): void => {
    over = true;
    frames.stop();
    wake();
    handler.onDone();
  };
  const pipe: Pipe = {
    get room() {
      return pending <= HIGH_WATER;
    },
    write(bytes, end = false) {
      if (!sending) return;
      if (end) sending = false;
      pending += bytes.length;
      const sent = (): void => {
        pending -= bytes.length;
        if (pipe.room && !over) handler.onRoom();
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
    abandon(code) {
      if (!sending) return;
      sending = false;
      made.then(({ writer }) => writer.abort(streamError(code))).catch(nothing);
    },
    cancel(code) {
      pipe.abandon(code);
      if (over) return;
      finish();
      made.then(({ reader }) => reader.cancel(streamError(code))).catch(nothing);
    },
    close(error) {
      if (over) return;
      sending = false;
      handler.onOver(error);
      finish();
    },
    poke: () => wake(),
    setPriority(priority) {
      made.then(({ writable }) => {
        if ("sendOrder" in writable) writable.sendOrder = priority;
      }, nothing);
    },
  };

  /** The receiving side has ended by the peer. */
  const end = (error: RpcError | undefined, code: number | undefined): void => {
    if (over) return;
    if (code !== undefined) pipe.abandon(code);
    handler.onOver(error);
    if (code !== undefined) pipe.cancel(code);
    else finish();
  };
  const fail = (error: unknown, code: number = ResetCode.ProtocolError): void => {
    const { message } = asError(error);
    end(new RpcError("internal", `protocol error: ${message}`, { cause: error }), code);
  };
  const take = (bytes: Uint8Array): void => {
    try {
      const rest = sort === undefined ? bytes : sort(bytes);
      if (rest === undefined) return;
      sort = undefined;
      frames.push(rest);
    } catch (error) {
      fail(error);
    }
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
      while (handler.paused && !over) await new Promise<void>((resolve) => (wake = resolve));
      if (over) return;
      if ("error" in next) {
        withCode(next.error, (number) => {
          const { code, message, refused } = describeReset(number);
          end(new RpcError(code, message, { refused }), number);
        });
        return;
      }
      if (next.done) {
        if (frames.midFrame || sort !== undefined) fail(new ProtocolError("the stream ends within a frame"));
        else end(undefined, undefined);
        return;
      }
      take(next.value);
    }
  };
  receive().catch((error: unknown) => pipe.close(lostCall(asError(error))));
  return pipe;
}

/** The number that a stream is given up with for a call that is over. */
export const NO_ERROR = 0;
export const CANCELLED: number = codeNumber("cancelled");
