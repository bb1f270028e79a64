import { newWebSocketRpcSession, RpcTarget, type RpcStub } from "capnweb";
import { service, type Contestant } from "../contestant.js";
import { WebSocket as NodeWebSocket } from "ws";
import { listen, trusting } from "./websocket.js";

// capnweb reads the states of a socket from the global class, which Node 20 does not have.
globalThis.WebSocket ??= NodeWebSocket as unknown as typeof WebSocket;

class Bench extends RpcTarget {
  multiply({ a, b }: { a: number; b: number }): { pro: number } {
    return { pro: service.multiply(a, b) };
  }
  empty(): void {}
  echo(bytes: Uint8Array): Uint8Array {
    return bytes;
  }
  wait(ms: number): Promise<void> {
    return service.wait(ms);
  }
}

export const capnweb: Contestant = {
  async serve(host, certificate) {
    const [server, port] = await listen(host, certificate);
    server.on("connection", (socket) => void newWebSocketRpcSession(socket as unknown as WebSocket, new Bench()));
    return port;
  },
  async connect(host, port, certificate) {
    const socket = new (trusting(certificate))(`wss://${host}:${port}`);
    const bench = newWebSocketRpcSession(socket as unknown as WebSocket) as unknown as RpcStub<Bench>;
    await new Promise<void>((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return {
      multiply: async (a, b) => (await bench.multiply({ a, b })).pro,
      empty: async () => await bench.empty(),
      echo: async (bytes) => await bench.echo(bytes),
      wait: async (ms) => await bench.wait(ms),
      close: () => socket.close(),
    };
  },
};
