import type { Http2Session } from "node:http2";
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
