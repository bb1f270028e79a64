import type { Lane } from "./page/remote.js";

/**
 * Behaviours that a test has seen in a page, for the table of docs/conformance.md, by title, in addition to its own
 * tests'.
 */
export interface ShownInPage {
  readonly lane: Lane;
  readonly passed: readonly string[];
  /** Title and reason. */
  readonly skipped: readonly (readonly [string, string])[];
  readonly failed: readonly string[];
}

declare module "vitest" {
  interface TaskMeta {
    shownInPage?: ShownInPage;
  }
}
