import { spawn } from "node:child_process";
import type { Diagnostic, SchemaRun } from "@quicrpc/codegen";
import { type Caller, sanitizeForLog, type Router, RpcError } from "@quicrpc/core";
import type { Trust } from "@quicrpc/studio/command";
import { Command, InvalidArgumentError } from "commander";
import { isWithoutReflection, listServices, type ProjectReflection, projectReflection } from "./described-services.js";
import { terminated } from "./process-lifetime.js";
import { colorsFor, formatDiagnostics } from "./report.js";
import {
  EXIT,
  TARGET_HELP,
  type TargetOptions,
  trustedHashes,
  withConnection,
  withSchemaOption,
  withTrust,
} from "./target.js";
import type { SourceWatcher } from "./watch.js";

interface StudioCommandOptions extends TargetOptions {
  readonly port?: number;
  readonly open?: boolean;
  readonly direct?: boolean;
}

export function studioCommand(): Command {
  return withSchemaOption(
    withTrust(
      new Command("studio")
        .description("Serve a page, for this machine only, that shows a server's services and calls them.")
        .argument("<url>", "the server")
        .option("--port <port>", "the page's port (default: a free one)", parsePort)
        .option("--direct", "connect from the page, to an https:// URL that allows its origin, and show its network")
        .option("--open", "open the page in the browser"),
    ),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc studio quic://localhost:4433 --dev --open
  $ SHOP_TOKEN=… quicrpc studio quic://shop.example --credentials-from SHOP_TOKEN
  $ quicrpc studio tls://shop.example:4433 --schema src/orders.service.ts

It requires @quicrpc/studio: npm install --save-dev @quicrpc/studio. This process carries the page's calls: the
page's address has a token, and whoever has it may call. It ends with Ctrl-C.
${TARGET_HELP}`,
    )
    .action(async (url: string, options: StudioCommandOptions) => {
      // Started here, so that a signal during the connection attempt also ends the command.
      const end = terminated();
      const schemaFiles = options.schema && (await schemaReflection(options.schema));
      if (schemaFiles === null) {
        process.exitCode = EXIT.failed;
        return;
      }
      process.exitCode = await withConnection(url, { ...options, compress: true }, async (connection) => {
        const described = schemaFiles ?? (await missingReflection(connection, options.timeout));
        const { serveStudio } = await import("@quicrpc/studio/command");
        const studio = await serveStudio({
          connection,
          target: url,
          ...(options.direct === true && { direct: { certificateHashes: await trustedHashes(options) } }),
          trust: trustOf(options),
          ...(described !== undefined && { reflection: described.reflection }),
          ...(options.port !== undefined && { port: options.port }),
        });
        const watcher =
          described?.run &&
          (await followSchemas(described.run, options.schema ?? [], (reflection) => studio.describeBy(reflection)));
        // A script takes the address as it is.
        process.stdout.write(`${process.stdout.isTTY ? "studio  " : ""}${studio.url}\n`);
        if (options.open === true) openPage(studio.url);
        await end;
        await watcher?.close();
        await studio.close();
        return EXIT.ok;
      });
    });
}

/** Returns the command-line options with which another command reaches the server in the same way. */
function trustOf({ dev, hash, ca, plainHttp, credentialsFrom }: TargetOptions): Trust {
  return {
    ...(dev === true && { dev }),
    ...(hash !== undefined && { hash: Buffer.from(hash).toString("hex") }),
    ...(ca !== undefined && { ca }),
    ...(plainHttp === true && { plainHttp }),
    ...(credentialsFrom !== undefined && { credentialsFrom }),
  };
}

/**
 * Returns reflection of the schemas in `files`. Returns null if the schemas are invalid, and reports that on stderr.
 */
async function schemaReflection(files: readonly string[]): Promise<ProjectReflection | null> {
  const { loadProjectServices, reflectionOf } = await import("./project-services.js");
  const cwd = process.cwd();
  const { services, diagnostics, run } = await loadProjectServices(files, cwd);
  if (services !== undefined) return { reflection: reflectionOf(services), run };
  printProblems(diagnostics, "nothing is shown");
  return null;
}

/**
 * Calls `onMade` with new reflection after each change of the schemas in `files`, or of the project's schemas. Reports
 * invalid schemas on stderr.
 */
async function followSchemas(
  first: SchemaRun,
  files: readonly string[],
  onMade: (reflection: Router) => void,
): Promise<SourceWatcher> {
  const { loadProjectServices, reflectionOf } = await import("./project-services.js");
  const { affectsOutput } = await import("@quicrpc/codegen");
  const { watchSources } = await import("./watch.js");
  let last = first;
  return watchSources(
    last,
    ({ event, path }) => affectsOutput(event, path, last),
    async () => {
      const { services, diagnostics, run } = await loadProjectServices(files, process.cwd());
      // A schema that cannot be read has no sources; the previous sources stay watched.
      last = run === undefined || run.sources.length === 0 ? last : run;
      if (services === undefined) {
        printProblems(diagnostics, "the page keeps its previous content");
      } else {
        process.stderr.write("The schemas have changed: pages were updated.\n");
        onMade(reflectionOf(services));
      }
      return last.sources;
    },
  );
}

function printProblems(diagnostics: readonly Diagnostic[], consequence: string): void {
  const colors = colorsFor(process.stderr, process.env);
  process.stderr.write(formatDiagnostics(diagnostics, process.cwd(), colors, consequence));
}

/**
 * Returns reflection of the project's schemas, for a server without reflection. If the project has no schemas, prints
 * advice on stderr and shows it on the page.
 */
async function missingReflection(server: Caller, timeoutMs: number): Promise<ProjectReflection | undefined> {
  try {
    await listServices(server, { timeoutMs });
  } catch (error) {
    // The page reports other failures, and asks again.
    if (!isWithoutReflection(error)) return undefined;
    try {
      return await projectReflection(error, false);
    } catch (advice) {
      const { message, hint = "" } = RpcError.from(advice);
      process.stderr.write(
        `${sanitizeForLog(message)}\n${colorsFor(process.stderr, process.env).green("help:")} ${sanitizeForLog(hint)}\n`,
      );
    }
  }
  return undefined;
}

/**
 * Opens a page in the user's browser with the platform's command. Does nothing if there is none, because the URL has
 * been printed.
 */
function openPage(url: string): void {
  const [command = "", ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler", url]
        : ["xdg-open", url];
  const opener = spawn(command, args, { stdio: "ignore", detached: true });
  opener.on("error", () => {});
  opener.unref();
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new InvalidArgumentError("It takes a port, 1 to 65535.");
  return port;
}
