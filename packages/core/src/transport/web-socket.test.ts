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

/** A browser's socket, which cannot be paused. */
class OpenSocket extends EventTarget {
  binaryType = "";
  readyState = 1;
  bufferedAmount = 0;
  closedWith: number | undefined;
  send(): void {}

  close(code: number): void {
    this.closedWith = code;
  }

  arrive(bytes: number): void {
    this.dispatchEvent(Object.assign(new Event("message"), { data: new ArrayBuffer(bytes) }));
  }
}

it("a WebSocket that cannot be paused is given up at maxHeldBytes", async () => {
  const socket = new OpenSocket();
  const session = webSocketTransport(socket as unknown as WebSocketLike, "server", { maxHeldBytes: 100_000 });
  const ends: (Error | undefined)[] = [];
  session.attach({ onStream: () => {}, onClosed: (_info, error) => ends.push(error) });
  session.sole?.pause();
  for (let i = 0; i < 4; i++) socket.arrive(25_000);
  expect(ends).toEqual([]);
  for (let i = 0; i < 4; i++) socket.arrive(25_000);
  expect(ends).toHaveLength(1);
  expect(ends[0]?.message).toContain("maxHeldBytes");
  expect(socket.closedWith).toBe(1000);
});

it("a WebSocket to which nobody attaches holds no more than maxHeldBytes", async () => {
  const socket = new OpenSocket();
  const session = webSocketTransport(socket as unknown as WebSocketLike, "server", { maxHeldBytes: 100_000 });
  for (let i = 0; i < 8; i++) socket.arrive(25_000);
  expect(socket.closedWith).toBe(1000);
  const end = await new Promise<Error | undefined>((resolve) =>
    session.attach({ onStream: () => {}, onClosed: (_info, error) => resolve(error) }),
  );
  expect(end?.message).toContain("maxHeldBytes");
});

it("a WebSocket that does not say what it holds back, as React Native's, is written to at once", () => {
  const socket = Object.assign(new OpenSocket(), { bufferedAmount: undefined });
  const session = webSocketTransport(socket, "client");
  expect(session.sole?.write(new Uint8Array(1 << 20), false)).toBe(true);
  expect(session.sole?.pendingBytes()).toBe(0);
});
