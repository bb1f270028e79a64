import { createSession, type Session, type SessionOptions } from "@quicrpc/core";
import {
  createMemoryPair,
  type DirectSession,
  type DirectStream,
  type DirectStreamHandler,
  type SoleStream,
  type TransportSession,
  type WebTransportSession,
  type WebTransportStream,
} from "@quicrpc/core/transport";

/** Told of each step: before what arrives is delivered, soon after what is sent. It may end the session. */
export type OnStep = (step: string) => void;

/** A transport session that tells of whatever happens on it: streams, writes, arrivals, ends. */
export function stepped(transport: TransportSession, onStep: OnStep): TransportSession {
  return "openStream" in transport ? new SteppedDirect(transport, onStep) : steppedWeb(transport, onStep);
}

/** Sessions that end at a step of each, for a connection to make. */
export interface EndingSessions {
  readonly dial: () => Promise<Session>;
  /** How many steps the last session had. */
  readonly steps: number;
}

/**
 * Sessions in memory that `end` closes after this many steps. Later ones live longer, since otherwise no call would
 * ever complete.
 */
export function endingSessions(
  serverOptions: SessionOptions,
  step: number,
  end: (session: Record<"client" | "server", Session>) => void,
): EndingSessions {
  let [steps, longer] = [0, 0];
  return {
    dial: async () => {
      const [ours, theirs] = createMemoryPair();
      const at = step + longer++;
      let passed = 0;
      const onStep = (): void => {
        steps = ++passed;
        if (passed === at) end({ client, server });
      };
      const server = createSession(stepped(theirs, onStep), serverOptions);
      const client = createSession(stepped(ours, onStep));
      return client;
    },
    get steps() {
      return steps;
    },
  };
}

class SteppedDirect implements DirectSession {
  readonly sole?: SoleStream;
  private readonly session: DirectSession;
  private readonly onStep: OnStep;

  constructor(session: DirectSession, onStep: OnStep) {
    this.session = session;
    this.onStep = onStep;
    if (session.sole !== undefined) this.sole = steppedStream(session.sole, onStep);
  }

  attach(handler: Parameters<DirectSession["attach"]>[0]): void {
    let over = false;
    this.session.attach({
      ...(handler.onDatagram !== undefined && { onDatagram: (bytes) => handler.onDatagram?.(bytes) }),
      waits: () => handler.waits?.() === true,
      onStream: (stream) => {
        this.onStep("stream");
        if (!over) handler.onStream(steppedStream(stream, this.onStep));
      },
      onClosed: (info, error) => {
        over = true;
        handler.onClosed(info, error);
      },
    });
  }

  openStream(): DirectStream {
    this.onStep("open");
    return steppedStream(this.session.openStream(), this.onStep);
  }

  close(info?: Parameters<DirectSession["close"]>[0]): void {
    this.session.close(info);
  }
}

/** The stream itself, with `attach` and `write` watched. */
function steppedStream<S extends DirectStream>(stream: S, onStep: OnStep): S {
  return new Proxy(stream, {
    get(target, name) {
      if (name === "attach") return (handler: DirectStreamHandler) => target.attach(watched(handler, onStep));
      if (name === "write") {
        return (bytes: Uint8Array, end?: boolean) => {
          // Nothing ends a session in the middle of a write.
          queueMicrotask(() => onStep(end === true ? "write end" : "write"));
          return target.write(bytes, end);
        };
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function watched(handler: DirectStreamHandler, onStep: OnStep): DirectStreamHandler {
  let over = false;
  /** Nothing follows `onClosed`, should the step have led to it. */
  const step = (name: string, deliver: () => void): void => {
    onStep(name);
    if (!over) deliver();
  };
  return {
    onData: (chunk) => step("data", () => handler.onData(chunk)),
    onEnd: () => step("end", () => handler.onEnd()),
    onReset: (code) => step("reset", () => handler.onReset(code)),
    onStopSending: (code) => step("stop", () => handler.onStopSending(code)),
    onDrain: () => step("drain", () => handler.onDrain()),
    onClosed: (error) => {
      over = true;
      handler.onClosed(error);
    },
  };
}

function steppedWeb(transport: WebTransportSession, onStep: OnStep): TransportSession {
  const wrap = (stream: WebTransportStream): WebTransportStream => {
    const watch = (step: string): TransformStream<Uint8Array, Uint8Array> =>
      new TransformStream({
        transform: (chunk, out) => {
          onStep(step);
          out.enqueue(chunk);
        },
        flush: () => onStep(`${step} end`),
      });
    const sending = watch("write");
    // Failures reach both ends of the pipe.
    sending.readable.pipeTo(stream.writable).catch(() => {});
    return { readable: stream.readable.pipeThrough(watch("data")), writable: sending.writable };
  };
  return {
    ready: transport.ready,
    closed: transport.closed,
    close: (info) => transport.close(info),
    createBidirectionalStream: async () => {
      onStep("open");
      return wrap(await transport.createBidirectionalStream());
    },
    incomingBidirectionalStreams: transport.incomingBidirectionalStreams.pipeThrough(
      new TransformStream({
        transform: (stream, out) => {
          onStep("stream");
          out.enqueue(wrap(stream));
        },
      }),
    ),
  };
}

/** The streams of the sessions it watches that have not ended in both directions; a stream counts at each end. */
export class LiveStreams {
  count = 0;

  watch(transport: TransportSession): TransportSession {
    return "openStream" in transport ? this.watchDirect(transport) : this.watchWeb(transport);
  }

  private watchDirect(session: DirectSession): DirectSession {
    if (session.sole !== undefined) return session;
    return {
      attach: (handler) =>
        session.attach({
          onStream: (stream) => handler.onStream(this.watchStream(stream)),
          onClosed: (info, error) => handler.onClosed(info, error),
        }),
      openStream: () => this.watchStream(session.openStream()),
      close: (info) => session.close(info),
    };
  }

  private watchStream(stream: DirectStream): DirectStream {
    const over = this.twoSides();
    return {
      attach: (handler) =>
        stream.attach({
          onData: (chunk) => handler.onData(chunk),
          onEnd: () => (over("receiving"), handler.onEnd()),
          onReset: (code) => (over("receiving"), handler.onReset(code)),
          onStopSending: (code) => handler.onStopSending(code),
          onDrain: () => handler.onDrain(),
          onClosed: (error) => (over("receiving"), over("sending"), handler.onClosed(error)),
        }),
      write: (bytes, end = false) => {
        if (end) over("sending");
        return stream.write(bytes, end);
      },
      pendingBytes: () => stream.pendingBytes(),
      reset: (code) => (over("sending"), stream.reset(code)),
      stopSending: (code) => (over("receiving"), stream.stopSending(code)),
      pause: () => stream.pause(),
      resume: () => stream.resume(),
    };
  }

  private watchWeb(transport: WebTransportSession): WebTransportSession {
    const watch = (stream: WebTransportStream): WebTransportStream => {
      const over = this.twoSides();
      const sending = new TransformStream<Uint8Array, Uint8Array>();
      const receiving = new TransformStream<Uint8Array, Uint8Array>();
      const ended = (side: "sending" | "receiving") => () => over(side);
      sending.readable.pipeTo(stream.writable).then(ended("sending"), ended("sending"));
      stream.readable.pipeTo(receiving.writable).then(ended("receiving"), ended("receiving"));
      return { readable: receiving.readable, writable: sending.writable };
    };
    return {
      ready: transport.ready,
      closed: transport.closed,
      close: (info) => transport.close(info),
      createBidirectionalStream: async () => watch(await transport.createBidirectionalStream()),
      incomingBidirectionalStreams: transport.incomingBidirectionalStreams.pipeThrough(
        new TransformStream({ transform: (stream, out) => out.enqueue(watch(stream)) }),
      ),
    };
  }

  private twoSides(): (side: "sending" | "receiving") => void {
    const open = new Set(["sending", "receiving"]);
    this.count++;
    return (side) => {
      if (open.delete(side) && open.size === 0) this.count--;
    };
  }
}
