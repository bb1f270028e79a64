import { affectsOutput, removeStale, runProject, type SchemaRun, writeGenerated } from "@quicrpc/codegen";
import { checkOptions, type OptionNames } from "@quicrpc/core/transport";
import type { Plugin, ViteDevServer } from "vite";
import { certificateModule, type CertificateOptions, VIRTUAL } from "./certificate.js";
import { errorOf, PLUGIN } from "./overlay.js";

/** Options of the plugin. */
export interface QuicrpcOptions {
  /** Path of the configuration. Default: the nearest `quicrpc.config.ts`, searched from Vite's root upwards. */
  readonly config?: string;
  /** Set to false if another program generates the code. Default: true. */
  readonly generate?: boolean;
  /** Options that the server passes to `devCertificate`. Default: none. */
  readonly certificate?: CertificateOptions;
}

const OPTIONS: OptionNames<QuicrpcOptions> = {
  certificate: { directory: true, hosts: true },
  config: true,
  generate: true,
};

/** Milliseconds for which changes are collected: editors write a file in several steps, and git writes many files. */
const SETTLE_MS = 50;
const RESOLVED = `\0${VIRTUAL}`;

/**
 * Generates code from schemas before Vite builds or serves, and again after each change. Errors appear in the page with
 * file and line. Provides the hash of the development certificate as `serverCertificateHashes` of "virtual:quicrpc".
 */
export function quicrpc(options: QuicrpcOptions = {}): Plugin {
  checkOptions("quicrpc()", options, OPTIONS);
  const { config, generate = true, certificate = {} } = options;
  let root = process.cwd();
  let isDevelopment = false;
  const run = async (): Promise<SchemaRun> => {
    const made = await runProject([], { ...(config !== undefined && { config }) }, root);
    if (made.diagnostics.length === 0) {
      writeGenerated(made.files);
      removeStale(made.stale);
    }
    return made;
  };
  return {
    name: PLUGIN,
    enforce: "pre",
    configResolved(resolved) {
      ({ root } = resolved);
      isDevelopment = resolved.command === "serve" && !resolved.isProduction;
    },
    async buildStart() {
      // While serving, `configureServer` has done it.
      if (!generate || isDevelopment) return;
      const { diagnostics, warnings, sources } = await run();
      for (const warning of warnings) this.warn(errorOf([warning], root));
      if (diagnostics.length > 0) this.error(errorOf(diagnostics, root));
      for (const source of sources) this.addWatchFile(source);
    },
    async configureServer(server) {
      if (generate && isDevelopment) await keepGenerated(server, run, root);
    },
    resolveId: (id) => (id === VIRTUAL ? RESOLVED : undefined),
    load: (id) => (id === RESOLVED ? certificateModule(isDevelopment, certificate) : undefined),
  };
}

/** Generates now and after each change. Shows errors in open pages, and in pages opened later. */
async function keepGenerated(
  { watcher, hot, ws, config }: ViteDevServer,
  run: () => Promise<SchemaRun>,
  root: string,
): Promise<void> {
  let last: SchemaRun | undefined;
  let timer: NodeJS.Timeout | undefined;
  let running = false;
  let isClosed = false;
  const show = ({ diagnostics }: SchemaRun): void => {
    if (diagnostics.length > 0) ws.send({ type: "error", err: errorOf(diagnostics, root) });
  };
  const once = async (): Promise<void> => {
    const failed = last !== undefined && last.diagnostics.length > 0;
    last = await run();
    if (isClosed) return;
    watcher.add([...last.sources]);
    for (const warning of last.warnings) config.logger.warn(errorOf([warning], root).message, { timestamp: true });
    if (last.diagnostics.length > 0) {
      config.logger.error(errorOf(last.diagnostics, root).message, { timestamp: true });
      show(last);
    } else if (failed) hot.send({ type: "full-reload" });
  };
  const settle = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void start(), SETTLE_MS);
  };
  const start = async (): Promise<void> => {
    if (running) return settle();
    running = true;
    try {
      await once();
    } catch (error) {
      config.logger.error(`${PLUGIN}: ${String(error)}`, { timestamp: true });
    } finally {
      running = false;
    }
  };
  await start();
  watcher.on("all", (event, path) => {
    if (last !== undefined && affectsOutput(event, path, last)) settle();
  });
  watcher.on("close", () => {
    isClosed = true;
    clearTimeout(timer);
  });
  ws.on("connection", () => {
    if (last !== undefined) show(last);
  });
}
