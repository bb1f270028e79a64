import { relative } from "node:path";
import type { Diagnostic } from "@quicrpc/codegen";
import type { ErrorPayload } from "vite";

/** Name of the plugin. */
export const PLUGIN = "quicrpc";

/** Converts schema errors to Vite's error format, with the location of the first. */
export function errorOf(diagnostics: readonly Diagnostic[], root: string): ErrorPayload["err"] {
  const [first] = diagnostics;
  const message = diagnostics.map((each) => textOf(each, root)).join("\n\n");
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
  const place = file === undefined ? undefined : [relative(root, file), line, column].filter(Boolean).join(":");
  const where = [service, method].filter(Boolean).join("/");
  const subject = [where, path].filter(Boolean).join(" ");
  const head = [place, subject].filter(Boolean).join(" in ");
  return [`${head === "" ? "" : `${head}: `}${message}`, ...(help === undefined ? [] : [`help: ${help}`])].join("\n");
}
