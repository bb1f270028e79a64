import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Diagnostic } from "@quicrpc/codegen";
import { Command } from "commander";
import { colorsFor, formatDiagnostics } from "./report.js";
import { printJson } from "./target.js";

interface RenameOptions {
  readonly config?: string;
  readonly json?: boolean;
}

export function renameCommand(): Command {
  return new Command("rename")
    .description("Keep the ids and numbers of a method, service, message or field whose name changes.")
    .argument("<from>", "the old name, as in the lock file: service, service/method, message, or message.field")
    .argument("<to>", "the new name in the schema")
    .option("-c, --config <file>", "the configuration (default: the nearest quicrpc.config.ts)")
    .option("--json", "print { from, to, lock, diagnostics } as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc rename shop.v1.Orders/fetch shop.v1.Orders/get
  $ quicrpc rename shop.v1.Orders shop.v1.Purchases
  $ quicrpc rename shop.v1.Article.name shop.v1.Article.title

Rename it in the schema too, then run quicrpc gen. Otherwise a renamed method is a new one, and the old one is removed.

Exit codes: 0 done, 1 it cannot be renamed, 2 wrong usage.`,
    )
    .action(async (from: string, to: string, options: RenameOptions) => {
      process.exitCode = await rename(from, to, options);
    });
}

async function rename(from: string, to: string, { config, json = false }: RenameOptions): Promise<number> {
  const cwd = process.cwd();
  const { findProject, formatLock, lockOf, readLock, renameLocked, writeGenerated } = await import("@quicrpc/codegen");
  const diagnostics: Diagnostic[] = [];
  const report = (diagnostic: Diagnostic): void => void diagnostics.push(diagnostic);
  const project = await findProject(cwd, config);
  if ("problem" in project) report(project.problem);
  const path = "problem" in project ? undefined : lockOf(project);
  if (path !== undefined) {
    try {
      const lock = readLock(readFileSync(path, "utf8"), path, report);
      if (lock !== undefined) {
        writeGenerated([{ path, text: formatLock(renameLocked(lock, from, to)), changed: true }]);
        if (!json) {
          process.stdout.write(
            `${from} is ${to} in ${relative(cwd, path)}: rename it in the schema, and run quicrpc gen.\n`,
          );
        }
      }
    } catch (error) {
      const message = error instanceof RangeError ? error.message : "There is no lock file yet: run quicrpc gen.";
      report({ file: path, code: "rename", message });
    }
  }
  if (json) printJson({ from, to, ...(path !== undefined && { lock: relative(cwd, path) }), diagnostics });
  else if (diagnostics.length > 0)
    process.stderr.write(formatDiagnostics(diagnostics, cwd, colorsFor(process.stderr, process.env)));
  return diagnostics.length === 0 ? 0 : 1;
}
