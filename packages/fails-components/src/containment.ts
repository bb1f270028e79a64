import type { Http2Session, ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import type { FailsInside } from "./package.js";

/**
 * Makes an exception of the package's parser destroy only the stream, instead of ending the process. Some input, such
 * as a close capsule that is too short, makes the parser throw from an event listener.
 */
export function containReads(stream: Duplex): void {
  const originalOn = stream.on.bind(stream);
  stream.on = (event: string | symbol, listener: (...args: never[]) => void): Duplex => {
    const contained = (): void => {
      try {
        listener();
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    };
    return originalOn(event as "readable", event === "readable" ? contained : listener);
  };
}

/**
 * Delays the reset of a refused stream by one turn of the event loop. Otherwise newer versions of Node do not send the
 * response headers of the stream.
 */
export function resetLater(stream: ServerHttp2Stream): void {
  const close = stream.close.bind(stream);
  stream.close = (...args) => {
    const { ":status": status = 200 } = stream.sentHeaders ?? {};
    if (Number(status) === 200) close(...args);
    else setImmediate(close, ...args);
  };
}

/**
 * Throws synchronously for a stream that arrives after the session has closed. The package itself throws one turn of
 * the event loop later, which would be an uncaught exception.
 */
export function refuseLateStreams(session: FailsInside): void {
  const onStream = session.onStream.bind(session);
  session.onStream = (event) => {
    if (session.state === "closed" || session.state === "failed") throw new Error("a stream after the close");
    onStream(event);
  };
}

/**
 * Stops the package's ping, which it sends every second, after the connection is destroyed. Node would throw for such a
 * ping.
 */
export function pingWhileAlive(connection: Http2Session): void {
  const ping = connection.ping.bind(connection) as (...args: unknown[]) => boolean;
  connection.ping = (...args: unknown[]) => !connection.destroyed && ping(...args);
}
