import { relative } from "node:path";
import type { Diagnostic, GeneratedFile } from "@quicrpc/codegen";
import picocolors from "picocolors";

export type Colors = ReturnType<typeof picocolors.createColors>;

/**
 * Returns functions that colour text for `stream`. They do nothing if the environment variable NO_COLOR is set or the
 * stream is not a terminal.
 */
export function colorsFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Colors {
  const forced = env["FORCE_COLOR"] !== undefined && env["FORCE_COLOR"] !== "0";
  const allowsColor = env["NO_COLOR"] === undefined || env["NO_COLOR"] === "";
  return picocolors.createColors(allowsColor && (forced || stream.isTTY === true));
}

/** Formats diagnostics as text for people: location, problem, code and remedy, followed by a summary. */
export function formatDiagnostics(
  diagnostics: readonly Diagnostic[],
  cwd: string,
  colors: Colors,
  consequence = "nothing was written",
): string {
  const blocks = diagnostics.map((diagnostic) => formatDiagnostic(diagnostic, cwd, colors));
  const count = `${diagnostics.length} problem${diagnostics.length === 1 ? "" : "s"}; ${consequence}.`;
  return `${[...blocks, colors.bold(count)].join("\n\n")}\n`;
}

export function formatWarnings(warnings: readonly Diagnostic[], cwd: string, colors: Colors): string {
  return warnings.map((warning) => `${formatDiagnostic(warning, cwd, colors, colors.yellow("warning"))}\n\n`).join("");
}

function formatDiagnostic(
  diagnostic: Diagnostic,
  cwd: string,
  colors: Colors,
  severity: string = colors.red("error"),
): string {
  const { frame, service, method, path, message, help, code, other } = diagnostic;
  const placeText = ({ file, line, column }: Pick<Diagnostic, "file" | "line" | "column">): string =>
    file === undefined ? "" : [showPath(file, cwd), line, column].filter((part) => part !== undefined).join(":");
  const location = placeText(diagnostic);
  const framed = (text: string | undefined): string[] =>
    (text?.split("\n") ?? []).map((line) => `    ${line.replace(/\^+$/, (mark) => colors.red(mark))}`);
  const subject = [service, method].filter((part) => part !== undefined).join("/");
  const where = [subject, path].filter((part) => part !== undefined && part !== "").join(" ");
  const head = [location && `${colors.cyan(location)} -`, severity, colors.dim(code)].filter(Boolean).join(" ");
  return [
    `${head}${where === "" ? "" : ` ${colors.dim("in")} ${where}`}`,
    `  ${message}`,
    ...framed(frame),
    ...(other === undefined ? [] : [`  ${colors.cyan(placeText(other))} - the other`, ...framed(other.frame)]),
    ...(help === undefined ? [] : [`  ${colors.green("help:")} ${help}`]),
  ].join("\n");
}

export function formatFiles(
  files: readonly GeneratedFile[],
  stale: readonly string[],
  options: { readonly cwd: string; readonly check: boolean; readonly elapsedMs: number },
  colors: Colors,
): string {
  const lines = files.map(({ path, changed, schema }) => {
    const verb = !changed ? colors.dim("unchanged") : options.check ? colors.red("stale") : colors.green("wrote");
    const counts = schema && ` (${plural(schema.services, "service")}, ${plural(schema.methods, "method")})`;
    return `${verb} ${showPath(path, options.cwd)}${counts ?? ""}\n`;
  });
  for (const path of stale) {
    lines.push(`${colors.red(options.check ? "stale" : "removed")} ${showPath(path, options.cwd)}\n`);
  }
  return `${lines.join("")}${colors.dim(`in ${Math.round(options.elapsedMs)} ms`)}\n`;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function showPath(path: string, cwd: string): string {
  return relative(cwd, path) || path;
}
