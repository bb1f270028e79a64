import { relative } from "node:path";
import type { ImportOptions } from "@quicrpc/codegen/import";
import { Command, Option } from "commander";
import { writeProblem } from "./gen.js";
import { colorsFor, formatDiagnostics, formatFiles, formatWarnings } from "./report.js";
import { printJson } from "./target.js";

interface ImportCommandOptions extends Pick<ImportOptions, "out" | "importExtension" | "force"> {
  readonly include?: readonly string[];
  readonly json?: boolean;
}

export function importCommand(): Command {
  return new Command("import")
    .description("Write zod schemas and services for .proto files.")
    .argument("<files...>", ".proto files")
    .option("-I, --include <dirs...>", "folders to which imports are relative (default: the folders of the files)")
    .option("-o, --out <dir>", "folder of the modules", ".")
    .addOption(
      new Option(
        "--import-extension <extension>",
        "how modules import each other (default: as the nearest tsconfig.json allows)",
      ).choices(["ts", "js", "none"]),
    )
    .option("--force", "replace modules that were edited")
    .option("--json", "print { diagnostics, warnings, files } as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc import greeter.proto
  $ quicrpc import proto/shop/v1/orders.proto -I proto -I third_party --out src
  $ quicrpc gen --proto proto

A file with services becomes <name>.service.ts, any other file <name>.ts. An imported file is included with all its types and services if one of its types is used. The schemas contain the numbers of fields, so messages have the same bytes.

Exit codes: 0 done, 1 a file is wrong or a module was edited, 2 wrong usage.`,
    )
    .action(async (files: string[], options: ImportCommandOptions) => {
      process.exitCode = await run(files, options);
    });
}

async function run(paths: readonly string[], options: ImportCommandOptions): Promise<number> {
  const started = performance.now();
  const cwd = process.cwd();
  const { include: folders = [], json = false, ...rest } = options;
  const { importProtos, writeGenerated } = await import("@quicrpc/codegen/import");
  const result = importProtos({ ...rest, files: paths, folders, cwd });
  const { warnings, files } = result;
  const diagnostics = [...result.diagnostics];
  try {
    writeGenerated(files);
  } catch (error) {
    diagnostics.push(writeProblem(error));
  }
  if (json) {
    const written = files.map(({ path, changed }) => ({
      path: relative(cwd, path),
      status: changed ? "written" : "unchanged",
    }));
    printJson({ diagnostics, ...(warnings.length > 0 && { warnings }), files: diagnostics.length > 0 ? [] : written });
  } else if (diagnostics.length > 0) {
    process.stderr.write(formatDiagnostics(diagnostics, cwd, colorsFor(process.stderr, process.env)));
  } else {
    process.stderr.write(formatWarnings(warnings, cwd, colorsFor(process.stderr, process.env)));
    const elapsedMs = performance.now() - started;
    process.stdout.write(
      formatFiles(files, [], { cwd, check: false, elapsedMs }, colorsFor(process.stdout, process.env)),
    );
  }
  return diagnostics.length > 0 ? 1 : 0;
}
