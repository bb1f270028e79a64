// Two workers of node:cluster, which this program forks by itself, serve on one UDP port: the second cannot, and its error is this program's message.
import cluster from "node:cluster";
import { devCertificate, serve } from "@quicrpc/node";

const { CERT, KEY, PORT } = process.env;
if (cluster.isPrimary) {
  const { cert, key } = await devCertificate();
  const fork = (port: number, onTold: (told: object) => void): void => {
    const worker = cluster.fork({ CERT: cert, KEY: key, PORT: String(port) });
    worker.once("message", onTold);
    process.once("disconnect", () => worker.process.kill());
  };
  fork(0, (told) => fork((told as { port: number }).port, (second) => process.send?.(second)));
} else {
  try {
    const tls = { cert: CERT as string, key: KEY as string };
    const server = await serve({ listen: `quic://127.0.0.1:${PORT}`, tls, routers: [] });
    process.send?.({ port: server.address.port });
  } catch (error) {
    const { code, hint } = error as { code: string; hint?: string };
    process.send?.({ code, hint });
  }
}
