/** What became of a file's tests. */
export interface Ran {
  /** From the root of the repository, with slashes. */
  readonly file: string;
  readonly tests: readonly {
    readonly name: string;
    readonly state: "passed" | "failed" | "skipped" | "pending";
    /** Why it was skipped, where it says so. */
    readonly note: string | undefined;
  }[];
}

/** Tests that a machine can only run where it has something that npm does not bring. */
interface Chapter {
  readonly name: string;
  readonly holds: RegExp;
  /** What they need. */
  readonly needs: string;
}

const CHAPTERS: readonly Chapter[] = [
  { name: "engine", holds: /^packages\/quic\/test\//, needs: "cargo, to build the QUIC engine" },
  {
    name: "chromium",
    holds: /^(test\/browser\/(?!firefox)|packages\/quic\/test\/browser\.test)/,
    needs: "a Chromium: as root `apt-get install chromium`, or QUICRPC_CHROMIUM=<path>",
  },
  {
    name: "firefox",
    holds: /^test\/browser\/firefox/,
    needs: "a Firefox: as root `apt-get install firefox-esr`, or QUICRPC_FIREFOX=<path>",
  },
];

/** The tests that were skipped, counted by file and reason. */
export function skippedLines(ran: readonly Ran[]): string[] {
  const counts = new Map<string, number>();
  for (const { file, tests } of ran) {
    for (const { state, note } of tests) {
      if (state !== "skipped") continue;
      const line = note === undefined ? file : `${file}: ${note}`;
      counts.set(line, (counts.get(line) ?? 0) + 1);
    }
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return ["skipped: nothing"];
  return [`skipped: ${total} tests`, ...Array.from(counts, ([line, count]) => `  ${count} of ${line}`)];
}

/** Why each of the chapters that were wanted counts as left out: a file of its was skipped as a whole, or none ran. */
export function missingChapters(ran: readonly Ran[], wanted: readonly string[]): string[] {
  return wanted.flatMap((name) => {
    const chapter = CHAPTERS.find((one) => one.name === name);
    if (chapter === undefined) return [`QUICRPC_CHAPTERS: ${name} is no chapter`];
    const files = ran.filter(({ file }) => chapter.holds.test(file));
    const idle = files.filter(({ tests }) => tests.every(({ state }) => state === "skipped"));
    if (files.length > 0 && idle.length === 0) return [];
    const left = files.length === 0 ? "no test of it ran" : `skipped: ${idle.map(({ file }) => file).join(", ")}`;
    return [`the chapter ${name} was left out (${left}); it needs ${chapter.needs}`];
  });
}
