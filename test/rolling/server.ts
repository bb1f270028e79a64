// A server of the rolling restarts, in its own process: drains on request, and ends.
import { serve, type ServerDrainOptions } from "@quicrpc/node";
import { logRouter, type RollingSettings } from "./log.js";

const settings = JSON.parse(process.argv[2] ?? "{}") as RollingSettings;
const server = await serve({ listen: [settings.listen], tls: settings.tls, routers: [logRouter(settings)] });
process.on("message", (options: ServerDrainOptions) => {
  void server.drain(options).then(() => process.exit());
});
process.send?.(server.urls[0]);
