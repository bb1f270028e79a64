/** Result of one check of `quicrpc doctor`. */
export interface Finding {
  readonly check: string;
  /** A problem makes the command fail; a note is as things are, such as a transport that a server does not offer. */
  readonly status: "ok" | "problem" | "note";
  readonly text: string;
  /** Remedy, as an instruction. */
  readonly fix?: string;
}

/** Makes the finding of a check that found nothing wrong. */
export function ok(check: string, text: string): Finding {
  return { check, status: "ok", text };
}

/** Makes the finding of something that is wrong. */
export function problem(check: string, text: string, fix: string): Finding {
  return { check, status: "problem", text, fix };
}

/** Makes the finding of something that may be meant so. */
export function note(check: string, text: string, fix?: string): Finding {
  return { check, status: "note", text, ...(fix !== undefined && { fix }) };
}

/** The message of an exception; the first line is enough for a list. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
}
