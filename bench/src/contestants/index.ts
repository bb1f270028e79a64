import type { Contestant } from "../contestant.js";

/** Contestants that run on Node, by name. Each is only loaded on demand, so that its memory can be measured alone. */
const contestants: Readonly<Record<string, () => Promise<Contestant>>> = {
  quicrpc: async () => (await import("./quicrpc.js")).auto,
  "quicrpc, lane": async () => (await import("./quicrpc.js")).lane,
  "quicrpc, stream per call": async () => (await import("./quicrpc.js")).stream,
  "quicrpc, codecs by zod": async () => (await import("./zod-codecs.js")).zodCodecs,
  "quicrpc, WebTransport": async () => (await import("./quicrpc.js")).webTransport,
  "quicrpc, tls://": async () => (await import("./quicrpc.js")).tls,
  "quicrpc, wss://": async () => (await import("./quicrpc.js")).webSocket,
  "quicrpc, 0-RTT": async () => (await import("./quicrpc.js")).early,
  "quicrpc, by @fails-components/webtransport (HTTP/2)": async () =>
    (await import("./fails-components.js")).failsComponents,
  "@grpc/grpc-js": async () => (await import("./grpc.js")).grpcJs,
  "connect-node (HTTP/2)": async () => (await import("./connect.js")).connectNode,
  "tRPC (WebSocket)": async () => (await import("./trpc.js")).trpc,
  "oRPC (WebSocket)": async () => (await import("./orpc.js")).orpc,
  "capnweb (WebSocket)": async () => (await import("./capnweb.js")).capnweb,
  "socket.io acks": async () => (await import("./socket-io.js")).socketIo,
  "floor: msgpackr over TLS": async () => (await import("./floor.js")).tlsFloor,
  "floor: msgpackr over WebSocket": async () => (await import("./floor-websocket.js")).webSocketFloor,
  "floor: msgpackr over TCP": async () => (await import("./floor.js")).tcpFloor,
};

export const contestantNames: readonly string[] = Object.keys(contestants);

export function contestantNamed(name = ""): Promise<Contestant> {
  const load = Object.hasOwn(contestants, name) ? contestants[name] : undefined;
  if (load !== undefined) return load();
  throw new Error(`no contestant is called "${name}"; there are ${contestantNames.join("; ")}`);
}
