import type { RunnerTask, RunnerTestCase, RunnerTestSuite } from "vitest";
import { TestRunner } from "vitest";

/** Matches a failure caused by a missing QUIC engine, anywhere in its causes or in a process's output. */
const MISSING = /ERR_QUIC_NATIVE_MISSING|QUIC is not available on|This needs the QUIC engine/;
/** As `context.skip(note)` leaves it; the types do not tell of `note`. */
const SKIPPED = { state: "skip" as const, note: "needs the QUIC engine" };

declare module "vitest" {
  interface TaskMeta {
    /** Why a suite that could not be prepared has not run. */
    skipped?: string;
  }
}

/** Runs tests on a machine without the QUIC engine: those that fail because they ask for it count as skipped. */
export default class EngineRunner extends TestRunner {
  override onAfterRunTask(test: RunnerTestCase): void {
    super.onAfterRunTask(test);
    skipIfMissing(test);
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onAfterRunSuite(suite);
    if (!skipIfMissing(suite)) return;
    suite.meta.skipped = SKIPPED.note;
    skipAll(suite.tasks);
  }
}

/** Whether the task failed for want of an engine; then it no longer has. */
function skipIfMissing(task: RunnerTask): boolean {
  const { result } = task;
  // Further failures, such as an `afterEach` for something that was never created, are consequences.
  if (result?.state !== "fail" || result.errors?.some((error) => MISSING.test(textOf(error))) !== true) return false;
  const { errors: _, ...rest } = result;
  task.result = { ...rest, ...SKIPPED };
  task.mode = "skip";
  return true;
}

/** Marks as skipped the tests that a `beforeAll` or a module could not prepare. */
function skipAll(tasks: readonly RunnerTask[]): void {
  for (const task of tasks) {
    task.mode = "skip";
    task.result = SKIPPED;
    if (task.type === "suite") skipAll(task.tasks);
  }
}

function textOf(error: unknown): string {
  const seen = new Set<unknown>();
  const withCauses = (_key: string, value: unknown): unknown => {
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return undefined;
    seen.add(value);
    if (!(value instanceof Error)) return value;
    const { message, cause } = value;
    return { ...Object.fromEntries(Object.entries(value)), message, cause };
  };
  return JSON.stringify(error, withCauses);
}
