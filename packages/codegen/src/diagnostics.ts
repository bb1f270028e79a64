import type { SourceNode } from "./source/compiler.js";

/** Kind of the problem that a diagnostic reports. Tools can rely on these names. */
export type DiagnosticCode =
  | "config"
  | "no-files"
  | "file-not-found"
  | "load-failed"
  | "no-service"
  | "invalid-service"
  | "service-name"
  | "duplicate-service"
  | "duplicate-export"
  | "service-id-clash"
  | "output-clash"
  | "write-failed"
  | "lock-conflict"
  | "lock-invalid"
  | "lock-clash"
  | "snapshot-invalid"
  | "rename"
  | "against"
  | "method-name"
  | "duplicate-method"
  | "not-a-method"
  | "not-a-schema"
  | "zod-3"
  | "unsupported-type"
  | "schema-fails"
  | "nested-stream"
  | "nested-bytes"
  | "notify-output"
  | "notify-stream"
  | "once-stream"
  | "unknown-option"
  | "unknown-delivery"
  | "unknown-via"
  | "invalid-cursor"
  | "invalid-blob"
  | "resumable-kind"
  | "missing-package"
  | "unknown-code"
  | "invalid-meta"
  | "no-json"
  | "no-proto"
  | "proto-clash"
  | "proto-renamed"
  | "proto-syntax"
  | "proto-type"
  | "proto-left-out"
  | "import-edited"
  | "costly-template";

/** A problem in a schema, with its location and remedy. */
export interface Diagnostic {
  readonly code: DiagnosticCode;
  /** A sentence that describes the problem. */
  readonly message: string;
  /** A sentence that states the remedy. */
  readonly help?: string;
  /** Absolute path of the file; undefined if the problem is not in a file. */
  readonly file?: string;
  /** Line number, from 1. */
  readonly line?: number;
  /** Column number, from 1. */
  readonly column?: number;
  /** The source line with its number, and a marker below the location. */
  readonly frame?: string;
  /** Location of the other part, if two parts conflict. */
  readonly other?: SourcePlace;
  readonly service?: string;
  readonly method?: string;
  /** Location in the method's messages, such as `input.user.avatar`. */
  readonly path?: string;
}

export interface SourcePlace {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly frame?: string;
}

/** Returns the location of a syntax node, with its source line. */
export function sourcePlaceOf(node: SourceNode): SourcePlace {
  const { fileName, text } = node.getSourceFile();
  const start = node.getStart();
  const before = text.slice(0, start).split("\n");
  return placeAt(fileName, text, before.length, (before.at(-1)?.length ?? 0) + 1, node.end - start);
}

/**
 * Returns the location at a line and column of a file whose content is `text`.
 *
 * @param line line number, from 1
 * @param column column number, from 1
 * @param length number of characters to mark
 */
export function placeAt(file: string, text: string, line: number, column: number, length = 1): SourcePlace {
  const code = text.split(/\r?\n/)[line - 1];
  if (code === undefined) return { file, line, column };
  const gutter = String(line);
  const marked = Math.max(1, Math.min(length, code.length - column + 1));
  // Tabs before the marker are kept, so that the marker is below the code that it marks.
  const indent = code.slice(0, column - 1).replace(/[^\t]/g, " ");
  const frame = `${gutter} | ${code}\n${" ".repeat(gutter.length)} | ${indent}${"^".repeat(marked)}`;
  return { file, line, column, frame };
}
