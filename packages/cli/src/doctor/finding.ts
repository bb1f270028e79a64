/** Result of one check of `quicrpc doctor`. */
export interface Finding {
  readonly check: string;
  /** A problem makes the command fail. A note is informational, such as a transport that a server does not offer. */
  readonly status: "ok" | "problem" | "note";
  readonly text: string;
  /** Remedy, as an instruction. */
  readonly fix?: string;
}

/** Creates the finding of a successful check. */
export function ok(check: string, text: string): Finding {
  return { check, status: "ok", text };
}

/** Creates the finding of a problem. */
export function problem(check: string, text: string, fix: string): Finding {
  return { check, status: "problem", text, fix };
}

/** Creates the finding of something that may be intended. */
export function note(check: string, text: string, fix?: string): Finding {
  return { check, status: "note", text, ...(fix !== undefined && { fix }) };
}

/** Returns the first line of an exception's message. */
export function firstLineOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
}
