import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { behaviours } from "./behaviours.js";
import { pageKinds } from "../browser/page/lanes.js";
import type { ShownInPage } from "../browser/shown.js";
import { httpKinds } from "./http-kinds.js";
import { kinds } from "./kinds.js";

const page = fileURLToPath(new URL("../../docs/conformance.md", import.meta.url));

/** The table's columns. */
interface Column {
  readonly name: string;
  /** Name of the kind that shows what this one does not. */
  readonly like?: string;
  readonly exceptions?: ReadonlyMap<string, string>;
}
const ofSuites: readonly Column[] = [...kinds, ...httpKinds];
const columns: readonly Column[] = [...ofSuites, ...pageKinds];

/** Behaviours that are not tested for a particular kind, such as answers to a hostile peer's frames. */
const ANY = "";

/**
 * Writes docs/conformance.md from the titles of the tests that ran and passed; with `QUICRPC_CONFORMANCE=check` it fails
 * the run instead when the page says something else. Titles that hold a behaviour have its number (C27), those of suites
 * that run over a session kind end with its name ("session: QUIC"). What ran in a page tells so by its test's `meta`.
 */
export default class ConformanceReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    // Stream sessions show no more than the kinds they are made of.
    const ofKinds = modules.filter(({ project }) => project.name !== "stream sessions");
    const tests = ofKinds.flatMap((module) => [...module.children.allTests()]);
    const shown = new Shown();
    for (const test of tests) shown.add(test);
    const unseen = pageKinds.filter(({ lane }) => !shown.lanes.has(lane));
    if (unseen.length > 0) {
      const names = unseen.map(({ name }) => name).join("; ");
      console.error(`docs/conformance.md is left alone: without Chromium and Firefox nothing is known of ${names}`);
      return;
    }
    if (tests.some((test) => test.result().state === "failed")) {
      // The run fails already, and the page would be missing what failed.
      console.error("docs/conformance.md is left alone: a test failed");
      return;
    }
    const text = render(shown);
    if (process.env["QUICRPC_CONFORMANCE"] !== "check") {
      writeFileSync(page, text);
      return;
    }
    const differences = differing(readFileSync(page, "utf8"), text);
    if (differences.length === 0) return;
    console.error("docs/conformance.md is not what the tests show: npm run conformance writes it");
    for (const line of differences) console.error(line);
    process.exitCode = 1;
  }
}

/** The lines that one text has and the other has not. */
function differing(written: string, shown: string): readonly string[] {
  const [before, after] = [written.split("\n"), shown.split("\n")];
  const [had, has] = [new Set(before), new Set(after)];
  return [
    ...before.filter((line) => !has.has(line)).map((line) => `- ${line}`),
    ...after.filter((line) => !had.has(line)).map((line) => `+ ${line}`),
  ];
}

/**
 * Records which kinds have shown which behaviours. A behaviour is shown if every test with its number passed or was
 * skipped.
 */
class Shown {
  /** For each behaviour the names of kinds. */
  private readonly passed: Map<string, Set<string>> = new Map();
  private readonly failed: Map<string, Set<string>> = new Map();
  /** Why tests were skipped, by behaviour and kind: of several reasons the first by the alphabet, whichever test ran first. */
  private readonly reasons: Map<string, string> = new Map();
  /** Lanes of the pages that ran. */
  readonly lanes: Set<string> = new Set();

  add(test: TestCase): void {
    const result = test.result();
    const kind = kindOf(test) ?? ANY;
    if (result.state === "passed") note(this.passed, test.name, kind);
    if (result.state === "failed") note(this.failed, test.name, kind);
    if (result.state === "skipped" && result.note !== undefined) {
      this.skip(test.name, kind, result.note);
    }
    const { shownInPage } = test.meta();
    if (shownInPage === undefined) return;
    this.lanes.add(shownInPage.lane);
    this.addPage(shownInPage);
  }

  private addPage({ lane, passed, skipped, failed }: ShownInPage): void {
    const kind = pageKinds.find((one) => one.lane === lane)?.name ?? ANY;
    for (const name of passed) note(this.passed, name, kind);
    for (const name of failed) note(this.failed, name, kind);
    for (const [name, reason] of skipped) this.skip(name, kind, reason);
  }

  private skip(name: string, kind: string, reason: string): void {
    for (const number of numbersIn(name)) {
      const key = `${number} ${kind}`;
      const known = this.reasons.get(key);
      if (known === undefined || reason < known) this.reasons.set(key, reason);
    }
  }

  by(number: string, kind: string): boolean {
    return this.passed.get(number)?.has(kind) === true && this.failed.get(number)?.has(kind) !== true;
  }

  whySkipped(number: string, kind: string): string | undefined {
    return this.reasons.get(`${number} ${kind}`);
  }
}

function note(where: Map<string, Set<string>>, name: string, kind: string): void {
  for (const number of numbersIn(name)) where.set(number, (where.get(number) ?? new Set<string>()).add(kind));
}

function numbersIn(name: string): string[] {
  return Array.from(name.matchAll(/\bC[1-9]\d?\b/g), ([number]) => number);
}

/** Titles hold no more than 40 characters of a kind's name: longer ones are not found. */
function kindOf(test: TestCase): string | undefined {
  for (let suite = test.parent; suite.type === "suite"; suite = suite.parent) {
    const name = suite.name.slice(suite.name.lastIndexOf(": ") + 2).replaceAll("'", "");
    if (ofSuites.some((kind) => kind.name === name)) return name;
  }
  return undefined;
}

function render(shown: Shown): string {
  const notes: string[] = [];
  const sections = Object.entries(behaviours).map(([topic, names]) => {
    const rows = names.map((name) => row(name, shown, notes));
    return `## ${topic}\n\n| | ${columns.map((_, i) => `K${i + 1}`).join(" | ")} |\n|---${"|:-:".repeat(columns.length)}|\n${rows.join("\n")}\n`;
  });
  const legend = columns.map(({ name, like }, i) => {
    const other = columns.findIndex((column) => column.name === like);
    return `- K${i + 1}: ${name}${other < 0 ? "" : `, like K${other + 1}`}`;
  });
  return `# Conformance

Written by \`npm run conformance\` from the tests that ran; do not edit. Behaviours are tested over each kind of session:

${legend.join("\n")}

✓ is held by tests over this kind; ● by tests that no kind takes part in, or that run over one of them for all; a number
is an exception, explained below, and beside ✓ what is left out; · is held by tests over the kind with the same sessions; – has no test yet. What runs in a page does so in Chromium where its name says no other browser, against a
server in Node where the test needs nothing of its server, else against one in the page that Node joins it with.

${sections.join("\n")}
## Exceptions

${notes.map((note, i) => `${i + 1}. ${note}`).join("\n")}
`;
}

function row(name: string, shown: Shown, notes: string[]): string {
  const number = name.slice(0, name.indexOf(" "));
  return `| **${number}** ${name.slice(number.length + 1)} | ${columns.map((column) => cell(column, number, shown, notes)).join(" | ")} |`;
}

function cell({ name, like, exceptions }: Column, number: string, shown: Shown, notes: string[]): string {
  const except = (reason: string): string => noteNumber(notes, `${number}: ${reason}.`);
  const exception = exceptions?.get(number);
  if (exception !== undefined) return except(exception);
  const skipped = shown.whySkipped(number, name);
  if (shown.by(number, name)) return skipped === undefined ? "✓" : `✓ ${except(`in part: ${skipped}`)}`;
  if (skipped !== undefined) return except(skipped);
  if (like !== undefined) return "·";
  return shown.by(number, ANY) ? "●" : "–";
}

function noteNumber(notes: string[], note: string): string {
  const at = notes.indexOf(note);
  return String(at < 0 ? notes.push(note) : at + 1);
}
