import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { reachableUrls } from "../dev/addresses.js";
import { colorsFor, formatDiagnostics } from "../report.js";
import { EXIT, parseCount, printJson, report } from "../target.js";
import { terminated } from "../process-lifetime.js";
import type { OwnHandlers } from "./handlers.js";
import type { MockOptions } from "./mocked-method.js";

interface MockCommandOptions extends Omit<MockOptions, "latency"> {
  readonly latency?: MockOptions["latency"];
  readonly handlers?: string;
  readonly listen: string;
  readonly config?: string;
  readonly json?: boolean;
}

export function mockCommand(): Command {
  return new Command("mock")
    .description("Serve data made from schemas, for clients whose server is not there yet.")
    .argument("[files...]", "schema modules: paths or globs (default: the configuration's, or **/*.service.ts)")
    .option("-l, --listen <url>", "where", "https://[::]:4433/rpc")
    .option("--seed <n>", "the same seed gives the same answers to the same inputs", parseCount, 1)
    .option("--latency <ms>", "before each answer and item: 80, or 50-200 (default: 0)", parseLatency)
    .option("--errors <percent>", "so many calls fail with unavailable", parsePercent, 0)
    .option("--handlers <module>", "handlers of your own for some methods")
    .option("-c, --config <file>", "the configuration (default: the nearest quicrpc.config.ts)")
    .option("--json", "print { urls, services } as JSON, or { diagnostics } of a wrong schema")
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc mock
  $ quicrpc mock src/shop.service.ts --latency 50-200 --errors 2%
  $ quicrpc mock --handlers mocks.ts

Every answer passes its schema. A topic passes on what clients publish, and each subscription brings some made messages to it. The module of --handlers has them by service and method, as its default export:
  export default { "shop.v1.Orders": { get: ({ id }) => ({ id, total: 9 }) } };
It serves with the certificate for development, a WebSocket beside WebTransport, and reflection: quicrpc call finds it. Ctrl-C ends it.

Exit codes: 0 ended, 1 it cannot serve, 2 wrong usage.`,
    )
    .action(async (files: readonly string[], options: MockCommandOptions) => {
      process.exitCode = await mock(files, options);
    });
}

async function mock(
  files: readonly string[],
  { listen, json = false, config, handlers, latency = [0, 0], ...options }: MockCommandOptions,
): Promise<number> {
  const colors = colorsFor(process.stderr, process.env);
  const cwd = process.cwd();
  try {
    const { loadProjectServices } = await import("../project-services.js");
    const { services, diagnostics } = await loadProjectServices(files, cwd, config);
    if (services === undefined) {
      if (json) printJson({ diagnostics });
      else process.stderr.write(formatDiagnostics(diagnostics, cwd, colors, "nothing is served"));
      return 1;
    }
    const loadedHandlers = handlers === undefined ? {} : await loadHandlers(resolve(handlers));
    const { mockRouter } = await import("./handlers.js");
    const { devCertificate, serve } = await import("@quicrpc/node");
    const { createReflection } = await import("@quicrpc/services");
    const routers = services.map((service) => mockRouter(service, loadedHandlers, { ...options, latency }));
    const end = terminated();
    await using server = await serve({
      listen,
      webSocket: /^(https|quic):/.test(listen),
      tls: await devCertificate(),
      allowedOrigins: () => true,
      routers: [...routers, createReflection(routers)],
      advanced: { engine: "optional" },
    });
    const urls = server.urls.flatMap((url) => reachableUrls(url));
    const names = services.map(({ schema }) => schema.name);
    if (json) printJson({ urls, services: names });
    else process.stdout.write(`${names.join(", ")} at\n${urls.map((url) => `  ${url}\n`).join("")}`);
    await end;
    return 0;
  } catch (error) {
    report(error as Error, { json });
    return error instanceof TypeError ? EXIT.usage : EXIT.failed;
  }
}

async function loadHandlers(file: string): Promise<OwnHandlers> {
  const { ModuleLoader } = await import("@quicrpc/codegen");
  const { exports, problem } = await new ModuleLoader().load(file);
  if (exports === undefined) throw new Error(`${file}: ${problem.message}`);
  const exported = exports["default"];
  if (typeof exported !== "object" || exported === null)
    throw new Error(`${file} has no default export with handlers by service and method`);
  return exported as OwnHandlers;
}

function parseLatency(text: string): readonly [number, number] {
  const [, minMs, maxMs = minMs] = /^(\d+)(?:-(\d+))?(?:ms)?$/.exec(text) ?? [];
  if (minMs === undefined || Number(maxMs) < Number(minMs))
    throw new InvalidArgumentError("It takes milliseconds, as 80 or 50-200.");
  return [Number(minMs), Number(maxMs)];
}

function parsePercent(text: string): number {
  const percent = Number(text.replace(/%$/, ""));
  if (!(percent >= 0 && percent <= 100)) throw new InvalidArgumentError("It takes a percentage, as 2%.");
  return percent / 100;
}
