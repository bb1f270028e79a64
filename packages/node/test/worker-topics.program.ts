// A server of several workers with topics, which publishes as its parent says. See worker-topics.test.ts.
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { serve, type ServeOptions } from "@quicrpc/node";
import { workerTopics } from "@quicrpc/node/topics";
import { routerOf, serveRooms } from "../../../test/rooms.js";

const options = JSON.parse(process.argv[2] ?? "") as ServeOptions;
const topics = workerTopics();
const rooms = serveRooms(topics, undefined, false);
const service = { name: "test.v1.Workers", id: 7051 };
const pid = defineMethod(service, "unary", "pid", { id: 1, output: uncheckedCodec<number>() });
const server = await serve({
  ...options,
  routers: [createRouter({ pid }, { pid: () => process.pid }), routerOf(rooms)],
  onError: () => {},
});
if (server.group !== undefined) {
  process.on("message", (n: number) => void rooms.room.publish({ id: "1", message: { n, text: "" } }));
  process.send?.({ urls: server.urls });
}
