import type { SourceNode } from "./source/compiler.js";

/** The kind of mistake that a diagnostic reports. Stable, for tools. */
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
  | "costly-template";

/** A mistake in a schema, its location and its remedy. */
export interface Diagnostic {
  readonly code: DiagnosticCode;
  /** A sentence that describes the mistake. */
  readonly message: string;
  /** The remedy: what to write instead. */
  readonly help?: string;
  /** Absolute path; undefined if the mistake is not in a file. */
  readonly file?: string;
  /** Line, from 1. */
  readonly line?: number;
  /** Column, from 1. */
  readonly column?: number;
  /** The numbered source line, with the location underlined. */
  readonly frame?: string;
  /** The second location, if two parts conflict. */
  readonly other?: SourcePlace;
  readonly service?: string;
  readonly method?: string;
  /** Location in the method, such as `input.user.avatar`. */
  readonly path?: string;
}

/** A location in a source file. */
export interface SourcePlace {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly frame?: string;
}

/** Returns the location of `node`, with its code frame. */
export function sourcePlaceOf(node: SourceNode): SourcePlace {
  const { fileName, text } = node.getSourceFile();
  const start = node.getStart();
  const before = text.slice(0, start).split("\n");
  return placeAt(fileName, text, before.length, (before.at(-1)?.length ?? 0) + 1, node.end - start);
}

/**
 * Returns a location in a file with the content `text`.
 *
 * @param line from 1
 * @param column from 1
 * @param length number of characters to underline
 */
export function placeAt(file: string, text: string, line: number, column: number, length = 1): SourcePlace {
  const code = text.split(/\r?\n/)[line - 1];
  if (code === undefined) return { file, line, column };
  const gutter = String(line);
  const marked = Math.max(1, Math.min(length, code.length - column + 1));
  // Tabs before the marker are kept, so that it stays below the code that it marks.
  const indent = code.slice(0, column - 1).replace(/[^\t]/g, " ");
  const frame = `${gutter} | ${code}\n${" ".repeat(gutter.length)} | ${indent}${"^".repeat(marked)}`;
  return { file, line, column, frame };
}
