import { ProtocolError } from "../errors.js";
import { byteStreamTransport, type ByteStreamOptions, type Role } from "./byte-stream.js";
import { CreditedStream } from "./credited-stream.js";
import type { DirectSession, WebTransportSession, WebTransportStream } from "./session.js";

/** The subprotocol of a WebTransport session that has one stream (docs/protocol.md §8). */
export const WEBTRANSPORT_STREAM_PROTOCOL = "quicrpc.v1.stream";

/** A WebTransport session for one stream. The peer must not open unidirectional streams. */
export interface OneStreamWebTransport extends WebTransportSession {
  readonly incomingUnidirectionalStreams?: ReadableStream<unknown>;
}

/**
 * A transport over the one stream of a WebTransport session that is ready, made with `WEBTRANSPORT_STREAM_PROTOCOL`. It asks
 * of the implementation only that bytes arrive: flow control, close codes and cancelling are this protocol's own. That
 * suits implementations that do not hold a sender back, give no credit for streams, or lose the codes of resets.
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

/** Implementations throw at once where others reject. */
async function opened(session: WebTransportSession): Promise<WebTransportStream> {
  return session.createBidirectionalStream();
}

function release(session: WebTransportSession): void {
  try {
    session.close();
  } catch {
    // It has ended.
  }
}

/** Returns the peer's first stream, and all other streams that it opens. Datagrams are dropped, so that they do not accumulate. */
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
