import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Server } from "socket.io";
import { io } from "socket.io-client";
import { service, type Contestant, Tally } from "../contestant.js";

type Done<T> = (value: T) => void;

async function after<T>(promise: Promise<T>, done: Done<T>): Promise<void> {
  done(await promise);
}

export const socketIo: Contestant = {
  async serve(host, { cert, key }) {
    const http = createServer({ cert, key, minVersion: "TLSv1.3", noDelay: true });
    const server = new Server(http, { maxHttpBufferSize: 64 * 1024 * 1024, perMessageDeflate: false });
    server.on("connection", (socket) => {
      const tally = new Tally();
      socket.on("multiply", ({ a, b }: { a: number; b: number }, done: Done<object>) =>
        done({ pro: service.multiply(a, b) }),
      );
      socket.on("empty", (done: Done<void>) => done());
      socket.on("echo", (bytes: Uint8Array, done: Done<Uint8Array>) => done(bytes));
      socket.on("wait", (ms: number, done: Done<void>) => after(service.wait(ms), done));
      socket.on("tell", () => tally.tell());
      socket.on("told", (expected: number, done: Done<number>) => after(tally.told(expected), done));
    });
    await new Promise<void>((resolve) => http.listen(0, host, resolve));
    return (http.address() as AddressInfo).port;
  },
  async connect(host, port, { cert }) {
    const socket = io(`https://${host}:${port}`, {
      ca: cert,
      servername: "localhost",
      transports: ["websocket"],
    } as never);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve).once("connect_error", reject);
    });
    return {
      multiply: async (a, b) => ((await socket.emitWithAck("multiply", { a, b })) as { pro: number }).pro,
      empty: () => socket.emitWithAck("empty"),
      echo: async (bytes) => (await socket.emitWithAck("echo", bytes)) as Uint8Array,
      wait: (ms) => socket.emitWithAck("wait", ms),
      async notify(count) {
        for (let i = 0; i < count; i++) {
          socket.emit("tell", { i });
          if (i % 512 === 511) await Promise.resolve();
        }
        await socket.emitWithAck("told", count);
      },
      close: () => void socket.close(),
    };
  },
};
