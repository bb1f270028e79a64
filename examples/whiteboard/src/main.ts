import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { devCertificate, serve } from "@quicrpc/node";
import { fileTopics } from "@quicrpc/node/topics";
import { LIMITS } from "./server/limits.js";
import { participant, whiteboardRouter } from "./server/router.js";
import { openSite } from "./server/site.js";

const port = Number(process.env["PORT"] ?? 4433);
const pagePort = Number(process.env["PAGE_PORT"] ?? 8080);
const folder = process.env["DATA"] ?? fileURLToPath(new URL("../../../.cache/whiteboard", import.meta.url));

const { cert, key, hash } = await devCertificate();
const url = `https://127.0.0.1:${port}/whiteboard`;
// No browser trusts the certificate for a WebSocket; on this machine it may be one without.
const fallbackUrl = `ws://127.0.0.1:${port}/whiteboard`;

const certificateHash = Buffer.from(hash.value).toString("base64");
const site = await openSite(pagePort, { url, certificateHash, fallbackUrl }).catch((error: unknown) =>
  giveUp(error, "PAGE_PORT", pagePort),
);

const topics = fileTopics({ file: join(folder, "history"), limits: { maxHistoryMessages: LIMITS.history } });
const board = await serve({
  listen: [url, fallbackUrl],
  tls: { cert, key },
  routers: [whiteboardRouter(topics, folder)],
  authenticate: async ({ credentials }) => participant(await credentials),
  allowedOrigins: [`http://localhost:${pagePort}`, `http://127.0.0.1:${pagePort}`],
  limits: { maxFrameBytes: LIMITS.frameBytes, maxCalls: 64, maxStreams: 64 },
  advanced: { transport: { maxSessions: LIMITS.sessions } },
}).catch((error: unknown) => giveUp(error, "PORT", port));

console.log(`The whiteboard is at http://localhost:${pagePort} (open it twice). Ctrl-C ends it.`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    site.close();
    site.closeAllConnections();
    void board.close().then(() => topics.close());
  });
}

function giveUp(error: unknown, variable: string, port: number): never {
  const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  if (!taken) throw error;
  console.error(`Port ${port} is taken. Choose another one: ${variable}=${port + 1} npm start whiteboard`);
  process.exit(1);
}
