import { createWebSocketStream } from "ws";
import type { Contestant } from "../contestant.js";
import { floorClient, serveFloor } from "./floor.js";
import { listen, trusting } from "./websocket.js";

/** The floor's frames in binary messages over `wss://`, with the package ws. Frames of one turn share a message. */
export const webSocketFloor: Contestant = {
  async serve(host, certificate) {
    const [server, port] = await listen(host, certificate);
    server.on("connection", (socket) => serveFloor(createWebSocketStream(socket)));
    return port;
  },
  async connect(host, port, certificate) {
    const socket = new (trusting(certificate))(`wss://${host}:${port}`);
    await new Promise<void>((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return floorClient(createWebSocketStream(socket));
  },
};
