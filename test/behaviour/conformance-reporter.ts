import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { behaviours } from "./behaviours.js";
import { type Kind, kinds } from "./kinds.js";

const page = fileURLToPath(new URL("../../docs/conformance.md", import.meta.url));

/** Behaviours of no kind in particular, such as what a hostile peer is answered at the level of frames. */
const ANY = "";

/**
 * Writes docs/conformance.md from the titles of the tests that ran and passed; with `QUICRPC_CONFORMANCE=check` it fails
 * the run instead when the page says something else. Titles that hold a behaviour have its number (C27), those of suites
 * that run over a session kind end with its name ("session: QUIC").
 */
export default class ConformanceReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const text = render(shownBy(tests));
    if (process.env["QUICRPC_CONFORMANCE"] !== "check") {
      writeFileSync(page, text);
      return;
    }
    // The run fails already, and the page would be missing what failed.
    if (tests.some((test) => test.result().state === "failed")) return;
    if (readFileSync(page, "utf8") === text) return;
    console.error("docs/conformance.md is not what the tests show: npm run conformance writes it");
    process.exitCode = 1;
  }
}

/** For each behaviour the names of the kinds that show it. A number is shown where every test that has it passed. */
function shownBy(tests: readonly TestCase[]): Map<string, Set<string>> {
  const shown = new Map<string, Set<string>>();
  const failed: [number: string, kind: string][] = [];
  for (const test of tests) {
    const { state } = test.result();
    const kind = kindOf(test) ?? ANY;
    for (const [number] of test.name.matchAll(/\bC[1-9]\d?\b/g)) {
      if (state === "passed") shown.set(number, (shown.get(number) ?? new Set<string>()).add(kind));
      if (state === "failed") failed.push([number, kind]);
    }
  }
  for (const [number, kind] of failed) shown.get(number)?.delete(kind);
  return shown;
}

/** Titles hold no more than 40 characters of a kind's name: longer ones are not found. */
function kindOf(test: TestCase): string | undefined {
  for (let suite = test.parent; suite.type === "suite"; suite = suite.parent) {
    const name = suite.name.slice(suite.name.lastIndexOf(": ") + 2).replaceAll("'", "");
    if (kinds.some((kind) => kind.name === name)) return name;
  }
  return undefined;
}

function render(shown: ReadonlyMap<string, ReadonlySet<string>>): string {
  const notes: string[] = [];
  const sections = Object.entries(behaviours).map(([topic, names]) => {
    const rows = names.map((name) => row(name, shown, notes));
    return `## ${topic}\n\n| | ${kinds.map((_, i) => `K${i + 1}`).join(" | ")} |\n|---${"|:-:".repeat(kinds.length)}|\n${rows.join("\n")}\n`;
  });
  const legend = kinds.map(({ name }, i) => `- K${i + 1}: ${name}`);
  return `# Conformance

Written by \`npm run conformance\` from the tests that ran; do not edit. Behaviours are tested over each kind of session:

${legend.join("\n")}

✓ is held by tests over this kind; ● by tests that no kind takes part in, or that run over one of them for all; a number
is an exception, explained below; – has no test yet.

${sections.join("\n")}
## Exceptions

${notes.map((note, i) => `${i + 1}. ${note}`).join("\n")}
`;
}

function row(name: string, shown: ReadonlyMap<string, ReadonlySet<string>>, notes: string[]): string {
  const number = name.slice(0, name.indexOf(" "));
  const names = shown.get(number);
  return `| **${number}** ${name.slice(number.length + 1)} | ${kinds.map((kind) => cell(kind, number, names, notes)).join(" | ")} |`;
}

function cell(kind: Kind, number: string, names: ReadonlySet<string> | undefined, notes: string[]): string {
  const reason = kind.exceptions?.get(number);
  if (reason !== undefined) return noteNumber(notes, `${number}: ${reason}.`);
  if (names?.has(kind.name) === true) return "✓";
  return names?.has(ANY) === true ? "●" : "–";
}

function noteNumber(notes: string[], note: string): string {
  const at = notes.indexOf(note);
  return String(at < 0 ? notes.push(note) : at + 1);
}
