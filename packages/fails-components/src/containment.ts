import type { Http2Session, ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import type { FailsInside } from "./package.js";

/**
 * Makes an exception of the package's parser cost the stream that it reads, rather than the process: some bytes of a peer
 * make it throw where nobody catches, such as a close capsule that is too short.
 */
export function containReads(stream: Duplex): void {
  const on = stream.on.bind(stream);
  stream.on = (event: string | symbol, listener: (...given: never[]) => void): Duplex => {
    const contained = (): void => {
      try {
        listener();
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    };
    return on(event as "readable", event === "readable" ? contained : listener);
  };
}

/** Newer Nodes do not send the head of an answer whose stream is reset in the same turn, as the package resets what it refuses: it waits a turn. */
export function resetLater(stream: ServerHttp2Stream): void {
  const close = stream.close.bind(stream);
  stream.close = (...given) => {
    const { ":status": status = 200 } = stream.sentHeaders ?? {};
    if (Number(status) === 200) close(...given);
    else setImmediate(close, ...given);
  };
}

/** Makes a stream that arrives after the session's close throw at once: the package throws a turn later, where nothing contains it. */
export function refuseLateStreams(session: FailsInside): void {
  const onStream = session.onStream.bind(session);
  session.onStream = (event) => {
    if (session.state === "closed" || session.state === "failed") throw new Error("a stream after the close");
    onStream(event);
  };
}

/** The package pings every second, and does not look whether the connection has been destroyed: then Node throws. */
export function pingWhileAlive(connection: Http2Session): void {
  const ping = connection.ping.bind(connection) as (...given: unknown[]) => boolean;
  connection.ping = (...given: unknown[]) => !connection.destroyed && ping(...given);
}
