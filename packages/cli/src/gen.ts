import { relative } from "node:path";
import type { Diagnostic, GeneratedFile, ImportExtension } from "@quicrpc/codegen";
import { Command, Option } from "commander";
import { findSchemaFiles } from "./files.js";
import { colorsFor, formatDiagnostics, formatFiles } from "./report.js";

interface GenOptions {
  readonly out?: string;
  readonly importExtension?: ImportExtension;
  readonly check?: boolean;
  readonly json?: boolean;
}

/** The `gen` command. */
export function genCommand(): Command {
  return new Command("gen")
    .description("Generate typed clients and routers from service schemas.")
    .argument("[files...]", "schema modules: paths or globs (default: **/*.service.ts)")
    .option("-o, --out <dir>", "where generated files go (default: generated/ beside each schema module)")
    .addOption(
      new Option(
        "--import-extension <extension>",
        "how generated files name the schema module (default: what the nearest tsconfig.json allows)",
      ).choices(["ts", "js", "none"]),
    )
    .option("--check", "write nothing; exit with 1 when generated files are missing or stale")
    .option("--json", "print { diagnostics, files } as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc gen
  $ quicrpc gen src/arith.service.ts --out src/generated
  $ quicrpc gen "services/**/*.service.ts" --check

Exit codes: 0 done, 1 a schema is wrong or --check found stale files, 2 wrong usage.`,
    )
    .action(async (patterns: string[], options: GenOptions) => {
      process.exitCode = await gen(patterns, options);
    });
}

/** Runs the command; the result is the exit code. */
async function gen(patterns: readonly string[], options: GenOptions): Promise<number> {
  const started = performance.now();
  const cwd = process.cwd();
  const { out, importExtension, check = false, json = false } = options;
  // Loaded here, since it brings a compiler: help and usage errors need not wait for it.
  const { generate, writeGenerated } = await import("@quicrpc/codegen");
  const found = findSchemaFiles(patterns, cwd);
  const made = await generate({
    files: found.files,
    cwd,
    ...(out === undefined ? {} : { out }),
    ...(importExtension === undefined ? {} : { importExtension }),
  });
  const diagnostics = [...found.diagnostics, ...made.diagnostics];
  const failed = diagnostics.length > 0;
  const stale = check && made.files.some((file) => file.changed);
  if (!failed && !check) writeGenerated(made.files);

  if (json) {
    process.stdout.write(`${JSON.stringify(jsonReport(diagnostics, failed ? [] : made.files, check), undefined, 2)}\n`);
  } else if (failed) {
    process.stderr.write(formatDiagnostics(diagnostics, cwd, colorsFor(process.stderr, process.env)));
  } else {
    const elapsedMs = performance.now() - started;
    process.stdout.write(formatFiles(made.files, { cwd, check, elapsedMs }, colorsFor(process.stdout, process.env)));
    if (stale) process.stderr.write("Generated files are stale: run quicrpc gen.\n");
  }
  return failed || stale ? 1 : 0;
}

function jsonReport(diagnostics: readonly Diagnostic[], files: readonly GeneratedFile[], check: boolean): object {
  const cwd = process.cwd();
  return {
    diagnostics,
    files: files.map(({ path, schemaFile, services, methods, changed }) => ({
      path: relative(cwd, path),
      schema: relative(cwd, schemaFile),
      services,
      methods,
      status: !changed ? "unchanged" : check ? "stale" : "written",
    })),
  };
}
