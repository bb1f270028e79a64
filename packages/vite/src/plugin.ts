import {
  affectsOutput,
  type Diagnostic,
  removeStale,
  runProject,
  type SchemaRun,
  writeGenerated,
} from "@quicrpc/codegen";
import { relative } from "node:path";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import type { DevCertificateOptions } from "@quicrpc/node";
import type { ErrorPayload, Plugin, ViteDevServer } from "vite";

const PLUGIN = "quicrpc";
/** Name of the virtual module that pages import. */
const VIRTUAL = "virtual:quicrpc";

/** Options of the plugin `quicrpc`. */
export interface QuicrpcOptions {
  /**
   * Path of the configuration file. Default: the nearest `quicrpc.config.ts`, searched from Vite's root folder upwards.
   */
  readonly config?: string;
  /** Set to false if another program generates the code. Default: true. */
  readonly generate?: boolean;
  /** Options of `devCertificate`: the same values as those of the server. Default: none. */
  readonly certificate?: Pick<DevCertificateOptions, "hosts" | "directory">;
}

const OPTIONS: OptionNames<QuicrpcOptions> = {
  certificate: { directory: true, hosts: true },
  config: true,
  generate: true,
};

/**
 * Milliseconds for which changes are collected before code is generated. Editors write a file in several steps, and git
 * writes many files.
 */
const SETTLE_MS = 50;
const RESOLVED = `\0${VIRTUAL}`;

/**
 * Creates a Vite plugin that generates code from schemas before Vite builds or serves, and again after each change.
 * Schema errors appear in the page with file and line. The module "virtual:quicrpc" exports the hash of the development
 * certificate as `serverCertificateHashes`.
 */
export function quicrpc(options: QuicrpcOptions = {}): Plugin {
  checkOptions("quicrpc()", options, OPTIONS);
  const { config, generate = true, certificate = {} } = options;
  let root = process.cwd();
  let isDevelopment = false;
  const run = async (): Promise<SchemaRun> => {
    const results = await runProject([], { ...(config !== undefined && { config }) }, root);
    if (results.diagnostics.length === 0) {
      writeGenerated(results.files);
      removeStale(results.stale);
    }
    return results;
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

/**
 * Generates code now and after each change of the schemas. Shows errors in pages that are open, and in pages opened
 * later.
 */
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
  const generateOnce = async (): Promise<void> => {
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
      await generateOnce();
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

/** Converts schema errors to an error in Vite's format, with the location of the first error. */
function errorOf(diagnostics: readonly Diagnostic[], root: string): ErrorPayload["err"] {
  const [first] = diagnostics;
  const message = diagnostics.map((diagnostic) => textOf(diagnostic, root)).join("\n\n");
  return {
    plugin: PLUGIN,
    message,
    stack: "",
    ...(first?.file !== undefined && {
      id: first.file,
      loc: { file: first.file, line: first.line ?? 1, column: first.column ?? 1 },
    }),
    ...(first?.frame !== undefined && { frame: first.frame }),
  };
}

function textOf({ file, line, column, service, method, path, message, help }: Diagnostic, root: string): string {
  const location = file === undefined ? undefined : [relative(root, file), line, column].filter(Boolean).join(":");
  const where = [service, method].filter(Boolean).join("/");
  const subject = [where, path].filter(Boolean).join(" ");
  const head = [location, subject].filter(Boolean).join(" in ");
  return [`${head === "" ? "" : `${head}: `}${message}`, ...(help === undefined ? [] : [`help: ${help}`])].join("\n");
}

/**
 * Returns the source text of the virtual module. It contains the hash of the certificate that `devCertificate` returns
 * on this machine for the same options.
 */
async function certificateModule(isDevelopment: boolean, options: QuicrpcOptions["certificate"]): Promise<string> {
  if (!isDevelopment) return "export const serverCertificateHashes = [];\n";
  const { devCertificate } = await import("@quicrpc/node");
  const { hash } = await devCertificate(options);
  const value = `Uint8Array.of(${hash.value.join(", ")})`;
  return `export const serverCertificateHashes = [{ algorithm: "sha-256", value: ${value} }];\n`;
}
