import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that systems choose from themselves (32768 on Linux): nobody who lets the system choose gets one of these. */
const FIRST = 20_000;
const COUNT = 12_000;

/** The number of a port that nobody listens at, neither over UDP nor over TCP, at any address. */
export async function freePort() {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const udp = createSocket("udp4");
    const tcp = createServer();
    const bound = [listens(udp, () => udp.bind(port)), listens(tcp, () => tcp.listen(port))];
    const isFree = (await Promise.all(bound)).every(Boolean);
    await Promise.all([closed(udp), closed(tcp)]);
    if (isFree) return port;
  }
}

function listens(socket, start) {
  return new Promise((resolve) => {
    socket.once("listening", () => resolve(true)).once("error", () => resolve(false));
    start();
  });
}

async function closed(socket) {
  try {
    const done = once(socket, "close");
    socket.close();
    await done;
  } catch {
    // It has never been open.
  }
}
