import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { missingChapters, type Ran, skippedLines } from "./chapters.js";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Prints at the end which tests were skipped, with their reasons. Fails the run if it has skipped a chapter that
 * `QUICRPC_CHAPTERS` names, such as "engine,chromium".
 */
export default class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const ran = modules.map(ranOf);
    for (const line of skippedLines(ran)) console.log(line);
    const wanted = process.env["QUICRPC_CHAPTERS"]?.split(",") ?? [];
    for (const line of missingChapters(ran, wanted)) {
      console.error(line);
      process.exitCode = 1;
    }
  }
}

function ranOf(module: TestModule): Ran {
  const tests = [...module.children.allTests()].map((test) => {
    const { state } = test.result();
    return { name: test.fullName, state, note: state === "skipped" ? noteOf(test) : undefined };
  });
  return { file: relative(root, module.moduleId).replaceAll("\\", "/"), tests };
}

/** Why a test was skipped: it says so itself, or a suite around it that could not be prepared does. */
function noteOf(test: TestCase): string | undefined {
  const result = test.result();
  if (result.state === "skipped" && result.note !== undefined) return result.note;
  for (let around: TestCase["parent"] | TestModule = test.parent; ; around = around.parent) {
    const { skipped } = around.meta();
    if (skipped !== undefined || around.type === "module") return skipped;
  }
}
