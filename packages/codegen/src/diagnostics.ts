import type { SourceNode } from "./source/compiler.js";

/** Kind of the mistake that a diagnostic reports; stable, for tools. */
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
  | "unknown-code"
  | "invalid-meta"
  | "no-json"
  | "costly-template";

/** One mistake in a schema, with where it is and what to write instead. */
export interface Diagnostic {
  readonly code: DiagnosticCode;
  /** The mistake, in a sentence. */
  readonly message: string;
  /** The remedy: what to write instead. */
  readonly help?: string;
  /** Absolute path; absent when the mistake is in no file. */
  readonly file?: string;
  /** Line, from 1. */
  readonly line?: number;
  /** Column, from 1. */
  readonly column?: number;
  /** The offending line, numbered, with the place underlined. */
  readonly frame?: string;
  /** The other place, where the mistake is that two do not go together. */
  readonly other?: SourcePlace;
  readonly service?: string;
  readonly method?: string;
  /** Where in the method, as in `input.user.avatar`. */
  readonly path?: string;
}

/** A place in a source file. */
export interface SourcePlace {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly frame?: string;
}

/** The place of `node`, with its code frame. */
export function placeOf(node: SourceNode): SourcePlace {
  const { fileName, text } = node.getSourceFile();
  const start = node.getStart();
  const before = text.slice(0, start).split("\n");
  return placeAt(fileName, text, before.length, (before.at(-1)?.length ?? 0) + 1, node.end - start);
}

/** The place at `line` and `column` (from 1) of a file with content `text`; `length` characters are underlined. */
export function placeAt(file: string, text: string, line: number, column: number, length = 1): SourcePlace {
  const code = text.split(/\r?\n/)[line - 1];
  if (code === undefined) return { file, line, column };
  const gutter = String(line);
  const marked = Math.max(1, Math.min(length, code.length - column + 1));
  // Tabs are kept before the marker so that it stays under what it marks.
  const indent = code.slice(0, column - 1).replace(/[^\t]/g, " ");
  const frame = `${gutter} | ${code}\n${" ".repeat(gutter.length)} | ${indent}${"^".repeat(marked)}`;
  return { file, line, column, frame };
}
