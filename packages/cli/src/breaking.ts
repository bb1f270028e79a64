import type { Change, ChangeClass, Diagnostic, SchemaRun } from "@quicrpc/codegen";
import { sanitizeForLog } from "@quicrpc/core";
import { Command, Option } from "commander";
import { colorsFor, formatDiagnostics, type Colors } from "./report.js";
import { endRun } from "./process-lifetime.js";
import { printNotice, type TargetOptions, withTrust } from "./target.js";

interface BreakingOptions extends TargetOptions {
  readonly against: string;
  readonly config?: string;
  readonly allow?: readonly ChangeClass[];
  readonly all?: boolean;
  readonly http?: boolean;
}

export function breakingCommand(): Command {
  return withTrust(new Command("breaking"))
    .description("Compare the services with an earlier version, and list breaking changes.")
    .requiredOption("-a, --against <version>", "a git revision, a quicrpc.schema.json, or the URL of a server")
    .option("-c, --config <file>", "the configuration (default: the nearest quicrpc.config.ts)")
    .addOption(
      new Option("--allow <classes...>", "classes of changes that do not fail").choices([
        "wire",
        "source",
        "validation",
      ]),
    )
    .option("--http", "also list changes that affect clients over HTTP (default: if the configuration has openapi)")
    .option("--all", "show safe changes too")
    .option("--json", "print { against, changes, diagnostics } as JSON")
    .addHelpText(
      "after",
      `
Classes: wire (messages or calls of one version fail with the other), source (programs of the old client no longer
compile), validation (messages of the same shape may be refused), safe.

Examples:
  $ quicrpc breaking --against main
  $ quicrpc breaking --against v1.4.0 --allow source
  $ quicrpc breaking --against released/quicrpc.schema.json --json
  $ quicrpc breaking --against quic://orders.example:4433

A server is asked by its reflection service for all that it serves, but health and reflection.

Exit codes: 0 nothing breaks, 1 something does, 2 wrong usage or nothing to compare with.`,
    )
    .action(async (options: BreakingOptions) => {
      await endRun(await breaking(options));
    });
}

async function breaking(options: BreakingOptions): Promise<number> {
  const cwd = process.cwd();
  const { compareSnapshots, runProject, SHAPE_FORMAT } = await import("@quicrpc/codegen");
  const { SnapshotError, readAgainst } = await import("./compared-snapshot.js");
  const { isServerUrl, fetchSchema } = await import("./fetch-schema.js");
  const run: SchemaRun = await runProject([], options, cwd);
  const diagnostics: Diagnostic[] = [...run.diagnostics];
  let changes: readonly Change[] = [];
  if (run.lockFile === undefined && diagnostics.length === 0) {
    diagnostics.push({ code: "config", message: "This project has no lock file, so there is no version to compare." });
  } else if (run.lockFile !== undefined && diagnostics.length === 0) {
    try {
      const { against } = options;
      const earlier = isServerUrl(against)
        ? await fetchSchema(against, options)
        : readAgainst(against, cwd, run.lockFile);
      const isOther = Object.values(earlier.services).some(({ format }) => format !== SHAPE_FORMAT);
      if (isOther) printNotice({ notice: otherFormat(against) }, options.json === true);
      changes = compareSnapshots(earlier, run.snapshot, { http: options.http ?? run.openapi });
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      const { message, help } = error;
      diagnostics.push({ code: "against", message, ...(help !== undefined && { help }) });
    }
  }
  const allowed = new Set<ChangeClass>(["safe", ...(options.allow ?? [])]);
  const broken = changes.filter((change) => !allowed.has(change.class));
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify({ against: options.against, changes, diagnostics }, undefined, 2)}\n`);
  } else if (diagnostics.length > 0) {
    const colors = colorsFor(process.stderr, process.env);
    process.stderr.write(formatDiagnostics(diagnostics, cwd, colors, "nothing was compared"));
  } else {
    const selected = options.all === true ? changes : changes.filter((change) => change.class !== "safe");
    process.stdout.write(formatChanges(selected, changes, options.against, colorsFor(process.stdout, process.env)));
  }
  return diagnostics.length > 0 ? 2 : broken.length > 0 ? 1 : 0;
}

function otherFormat(reference: string): string {
  return `Checks (lengths, bounds, formats) are not compared: the schemas of ${reference} were written by another version of quicrpc. To compare them too, run quicrpc gen of this version there.`;
}

/** Formats changes as one line each, in columns, followed by a summary. */
function formatChanges(selected: readonly Change[], all: readonly Change[], reference: string, colors: Colors): string {
  const color: Readonly<Record<ChangeClass, (text: string) => string>> = {
    wire: colors.red,
    source: colors.yellow,
    validation: colors.magenta,
    safe: colors.green,
  };
  const rows = selected.map((change) => {
    const { service, method, path } = change;
    const subject = method === undefined ? service : `${service}/${method}`;
    const where = sanitizeForLog(path === undefined ? subject : `${subject} ${path}`);
    return { class: change.class, where, message: sanitizeForLog(change.message) };
  });
  const width = Math.max(0, ...rows.map(({ where }) => where.length));
  const lines = rows.map(
    (row) => `${color[row.class](row.class.padEnd(10))}  ${row.where.padEnd(width)}  ${row.message}`,
  );
  const counts = (["wire", "source", "validation", "safe"] as const)
    .map((kind) => [kind, all.filter((change) => change.class === kind).length] as const)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}`);
  return `${[...lines, colors.bold(`against ${reference}: ${counts.length === 0 ? "no change" : counts.join(", ")}`)].join("\n")}\n`;
}
