// One of several servers that are one whiteboard: what happens on the boards goes over NATS, and is kept there.
import { serve } from "@quicrpc/node";
import { natsTopics } from "@quicrpc/nats";
import { LIMITS } from "./server/limits.js";
import { participant, whiteboardRouter } from "./server/router.js";

const { PORT, PAGE_PORT, NATS = "127.0.0.1:4222", DATA = "." } = process.env;

// #region server
const topics = await natsTopics({ servers: NATS, history: { maxMessages: LIMITS.history } });
await serve({
  listen: `ws://127.0.0.1:${PORT}/whiteboard`,
  routers: [whiteboardRouter(topics, DATA)],
  authenticate: async ({ credentials }) => participant(await credentials),
  allowedOrigins: [`http://localhost:${PAGE_PORT}`, `http://127.0.0.1:${PAGE_PORT}`],
  limits: { maxFrameBytes: LIMITS.frameBytes, maxCalls: 64, maxStreams: 64 },
  advanced: { transport: { maxSessions: LIMITS.sessions } },
});
// #endregion server
console.log("it serves");
