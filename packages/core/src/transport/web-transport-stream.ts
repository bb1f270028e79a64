import { ProtocolError } from "../errors.js";
import { byteStreamTransport, type ByteStreamOptions, type Role } from "./byte-stream.js";
import { CreditedStream } from "./credited-stream.js";
import type { DirectSession, WebTransportSession, WebTransportStream } from "./session.js";

/** Subprotocol of a WebTransport session whose calls share a single stream (docs/protocol.md §8). */
export const WEBTRANSPORT_STREAM_PROTOCOL = "quicrpc.v1.stream";

/** A WebTransport session of which only one stream is used. The peer must not open unidirectional streams. */
export interface OneStreamWebTransport extends WebTransportSession {
  readonly incomingUnidirectionalStreams?: ReadableStream<unknown>;
}

/**
 * Creates a transport over one stream of a WebTransport session. The session must be ready and use the subprotocol
 * `WEBTRANSPORT_STREAM_PROTOCOL`. Flow control, close codes and cancellation are part of this protocol, so it works
 * with WebTransport implementations without backpressure, without sufficient stream credit, or without reset codes.
 */
export function oneStreamTransport(
  session: OneStreamWebTransport,
  role: Role,
  options?: ByteStreamOptions,
): DirectSession {
  const [first, unasked] = incoming(session);
  const stream = new CreditedStream(role === "client" ? opened(session) : first, () => release(session));
  const refuse = (): void => stream.lost(new ProtocolError("the peer opened a stream beside the session's own"));
  if (role === "client") first.then(refuse, () => {});
  unasked.then(refuse, () => {});
  session.ready.catch(() => {});
  session.closed.then(
    () => stream.lost(new Error("the WebTransport session ended")),
    (error: unknown) => stream.lost(error),
  );
  return byteStreamTransport(stream, role, options);
}

/** `async` turns the exceptions of some implementations into rejections. */
async function opened(session: WebTransportSession): Promise<WebTransportStream> {
  return session.createBidirectionalStream();
}

function release(session: WebTransportSession): void {
  try {
    session.close();
  } catch {
    // The session has ended.
  }
}

/**
 * Returns the first stream that the peer opens, and a promise that fulfils with any further stream. Drops datagrams, so
 * that they do not accumulate.
 */
function incoming(session: OneStreamWebTransport): [first: Promise<WebTransportStream>, unasked: Promise<unknown>] {
  const streams = session.incomingBidirectionalStreams.getReader();
  const first = read(streams);
  const others: Promise<unknown>[] = [first.then(() => read(streams))];
  const { incomingUnidirectionalStreams: unidirectional, datagrams } = session;
  if (unidirectional !== undefined) others.push(read(unidirectional.getReader()));
  if (datagrams !== undefined) void drop(datagrams.readable.getReader());
  return [first, Promise.any(others)];
}

async function read<T>(reader: ReadableStreamDefaultReader<T>): Promise<T> {
  const { value, done } = await reader.read();
  if (done) throw new Error("the WebTransport session ended before the peer opened its stream");
  return value;
}

async function drop(reader: ReadableStreamDefaultReader<unknown>): Promise<void> {
  for (;;) {
    const { done } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
  }
}
