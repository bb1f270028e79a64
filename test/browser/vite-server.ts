import { quicrpc, type QuicrpcOptions } from "@quicrpc/vite";
import { createServer, type ViteDevServer } from "vite";

/** Starts Vite's dev server with our plugin for the page in a folder, on a port of its own. */
export async function startVite(root: string, options: QuicrpcOptions): Promise<ViteDevServer> {
  const vite = await createServer({
    root,
    configFile: false,
    logLevel: "silent",
    plugins: [quicrpc(options)],
    server: { host: "127.0.0.1", port: 0 },
  });
  return vite.listen();
}

export function urlOf({ resolvedUrls }: ViteDevServer): string {
  return resolvedUrls?.local[0] ?? resolvedUrls?.network[0] ?? "";
}
