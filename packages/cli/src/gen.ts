import { relative } from "node:path";
import type { Diagnostic, ProjectOptions, SchemaRun } from "@quicrpc/codegen";
import { DEFAULT_PATTERN } from "@quicrpc/codegen/config";
import { Command, Option } from "commander";
import { colorsFor, formatDiagnostics, formatFiles, formatWarnings } from "./report.js";
import { endRun, optimizeLater } from "./process-lifetime.js";

interface GenOptions extends ProjectOptions {
  readonly watch?: boolean;
  readonly check?: boolean;
  readonly json?: boolean;
}

export function genCommand(): Command {
  return new Command("gen")
    .description("Generate typed clients and routers from service schemas.")
    .argument("[files...]", `schema modules: paths or globs (default: the configuration's, or ${DEFAULT_PATTERN})`)
    .option("-c, --config <file>", "the configuration (default: the nearest quicrpc.config.ts)")
    .option("-o, --out <dir>", "folder of generated files (default: generated/ next to each schema module)")
    .addOption(
      new Option(
        "--import-extension <extension>",
        "how generated files import the schema module (default: as the nearest tsconfig.json allows)",
      ).choices(["ts", "js", "none"]),
    )
    .addOption(
      new Option("--target <side>", "generate only for this side (default: both)").choices([
        "client",
        "http-client",
        "server",
        "both",
      ]),
    )
    .option("--no-explain", "codecs refuse invalid messages without details: smaller bundles")
    .option(
      "--no-links",
      "do not link comments to the schema, which requires generated files to import its types; clients never link",
    )
    .option("--docs <file>", "write a Markdown reference of the services too")
    .option("--openapi <file>", "write an OpenAPI 3.1 document of the services over HTTP too")
    .option("--proto <dir>", "write .proto files of the services to this folder too")
    .option("--no-lock", "do not store ids in quicrpc.lock.json")
    .option("-w, --watch", "generate again whenever a schema changes")
    .addOption(
      new Option("--check", "write nothing; exit with 1 if generated files are missing or stale").conflicts("watch"),
    )
    .option("--json", "print { diagnostics, files } as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc gen
  $ quicrpc gen src/arith.service.ts --out src/generated
  $ quicrpc gen --watch
  $ quicrpc gen --docs docs/api.md
  $ quicrpc gen --openapi docs/openapi.json
  $ quicrpc gen --proto proto
  $ quicrpc gen "services/**/*.service.ts" --check

With file names, the other schemas of the same package are run as well: the code that they share with a named one is generated once.

Exit codes: 0 done, 1 a schema is wrong or --check found stale files, 2 wrong usage.`,
    )
    .action(async (patterns: string[], options: GenOptions) => {
      await endRun(await gen(patterns, options));
    });
}

async function gen(patterns: readonly string[], options: GenOptions): Promise<number> {
  const cwd = process.cwd();
  optimizeLater();
  if (options.watch !== true) return (await generateOnce(patterns, options, cwd)).code;
  const { watchProject } = await import("./watch.js");
  await watchProject(cwd, () => generateOnce(patterns, options, cwd));
  return 0;
}

async function generateOnce(
  patterns: readonly string[],
  options: GenOptions,
  cwd: string,
): Promise<{ readonly code: number; readonly run: SchemaRun }> {
  const started = performance.now();
  const { check = false, json = false } = options;
  // Loaded here because they load a compiler, which help and usage errors do not need.
  const { removeStale, runProject, writeGenerated } = await import("@quicrpc/codegen");
  let run = await runProject(patterns, options, cwd);
  if (run.diagnostics.length === 0 && !check) {
    try {
      writeGenerated(run.files);
      removeStale(run.stale);
    } catch (error) {
      run = { ...run, diagnostics: [writeProblem(error)], files: [], stale: [] };
    }
  }
  const { diagnostics, warnings, files, stale } = run;
  const failed = diagnostics.length > 0;
  const isStale = check && (stale.length > 0 || files.some((file) => file.changed));

  if (json) {
    process.stdout.write(`${JSON.stringify(jsonReport(run, check, cwd), undefined, 2)}\n`);
  } else if (failed) {
    process.stderr.write(formatDiagnostics(diagnostics, cwd, colorsFor(process.stderr, process.env)));
  } else {
    if (warnings.length > 0) {
      process.stderr.write(formatWarnings(warnings, cwd, colorsFor(process.stderr, process.env)));
    }
    const elapsedMs = performance.now() - started;
    const colors = colorsFor(process.stdout, process.env);
    process.stdout.write(formatFiles(files, stale, { cwd, check, elapsedMs }, colors));
    if (isStale) process.stderr.write("Generated files are stale: run quicrpc gen.\n");
  }
  return { code: failed || isStale ? 1 : 0, run };
}

/** Describes an error of writing files. */
export function writeProblem(error: unknown): Diagnostic {
  const { message, path } = error as NodeJS.ErrnoException;
  return {
    code: "write-failed",
    ...(path !== undefined && { file: path }),
    message: `Cannot write the generated files: ${message}.`,
    help: "Check for files in the way and permissions, or choose another folder.",
  };
}

function jsonReport({ diagnostics, warnings, files, stale }: SchemaRun, check: boolean, cwd: string): object {
  return {
    diagnostics,
    ...(warnings.length > 0 && { warnings }),
    files: [
      ...files.map(({ path, schema, changed }) => ({
        path: relative(cwd, path),
        ...(schema && { schema: relative(cwd, schema.file), services: schema.services, methods: schema.methods }),
        status: !changed ? "unchanged" : check ? "stale" : "written",
      })),
      ...stale.map((path) => ({ path: relative(cwd, path), status: check ? "stale" : "removed" })),
    ],
  };
}
