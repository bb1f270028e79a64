import { expect, it } from "vitest";
import { type WebSocketLike, webSocketTransport } from "./web-socket.js";

/** A socket that was never opened: `ws` has nothing to pause then, and throws. */
class UnopenedSocket extends EventTarget {
  binaryType = "";
  readyState = 0;
  bufferedAmount = 0;
  send(): void {}

  close(): void {
    this.readyState = 2;
  }

  pause(): void {
    throw new TypeError("there is no connection to pause");
  }

  resume(): void {
    throw new TypeError("there is no connection to resume");
  }
}

it("a WebSocket that is given up before it is open is neither paused nor resumed", async () => {
  const socket = new UnopenedSocket();
  const session = webSocketTransport(socket as unknown as WebSocketLike, "client");
  let closed = false;
  session.attach({
    onStream: () => {},
    onClosed: () => {
      closed = true;
    },
  });
  session.sole?.pause();
  session.sole?.resume();
  session.close();
  // What was queued runs, and throws where it may.
  await new Promise((resolve) => setImmediate(resolve));
  socket.dispatchEvent(Object.assign(new Event("close"), { code: 1006, reason: "" }));
  expect(closed).toBe(true);
});
