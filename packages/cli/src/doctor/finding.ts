/** Result of one check of `quicrpc doctor`. */
export interface Finding {
  readonly check: string;
  /**
   * A "problem" makes the command fail. A "note" is for information only, such as a transport that the server does not
   * offer.
   */
  readonly status: "ok" | "problem" | "note";
  readonly text: string;
  readonly fix?: string;
}

export function ok(check: string, text: string): Finding {
  return { check, status: "ok", text };
}

export function problem(check: string, text: string, fix: string): Finding {
  return { check, status: "problem", text, fix };
}

/** Creates a result with the status "note", for a state that may be intended. */
export function note(check: string, text: string, fix?: string): Finding {
  return { check, status: "note", text, ...(fix !== undefined && { fix }) };
}

export function firstLineOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
}
