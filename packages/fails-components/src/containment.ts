import type { Http2Session, ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import type { FailsInside } from "./package.js";

/**
 * Destroys only the stream if the package's parser throws, instead of crashing the process. Some input, such as a close
 * capsule that is too short, makes the parser throw from an event listener.
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
 * Delays the reset of a refused stream by one turn of the event loop. Newer versions of Node do not send the response
 * headers of a stream that is reset in the same turn.
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
 * Throws at once for a stream that arrives after the session has closed. The package itself throws one turn later,
 * where the exception would be uncaught.
 */
export function refuseLateStreams(session: FailsInside): void {
  const onStream = session.onStream.bind(session);
  session.onStream = (event) => {
    if (session.state === "closed" || session.state === "failed") throw new Error("a stream after the close");
    onStream(event);
  };
}

/** Skips the package's ping, sent every second, once the connection is destroyed: Node throws for such a ping. */
export function pingWhileAlive(connection: Http2Session): void {
  const ping = connection.ping.bind(connection) as (...args: unknown[]) => boolean;
  connection.ping = (...args: unknown[]) => !connection.destroyed && ping(...args);
}
