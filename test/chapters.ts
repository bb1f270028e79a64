/** Outcomes of a file's tests. */
export interface Ran {
  /** From the root of the repository, with slashes. */
  readonly file: string;
  readonly tests: readonly {
    readonly name: string;
    readonly state: "passed" | "failed" | "skipped" | "pending";
    /** Reason why it was skipped, if given. */
    readonly note: string | undefined;
  }[];
}

/** Tests that require something that npm does not install. */
interface Chapter {
  readonly name: string;
  readonly holds: RegExp;
  /** Things that they need and npm does not bring. */
  readonly needs: string;
}

const CHAPTERS: readonly Chapter[] = [
  // Bun and Deno are optional.
  { name: "engine", holds: /^packages\/quic\/test\/(?!runtimes)/, needs: "cargo, to build the QUIC engine" },
  {
    name: "chromium",
    holds: /^(test\/browser\/(?!firefox|cluster)|packages\/quic\/test\/browser\.test)/,
    needs: "a Chromium: as root `apt-get install chromium`, or QUICRPC_CHROMIUM=<path>",
  },
  {
    name: "firefox",
    holds: /^test\/browser\/firefox/,
    needs: "a Firefox: as root `apt-get install firefox-esr`, or QUICRPC_FIREFOX=<path>",
  },
  {
    name: "cluster",
    holds: /^test\/browser\/cluster/,
    needs:
      "a Chromium, HAProxy and a NATS server: as root `apt-get install chromium haproxy`, and `node scripts/nats-server.mjs`",
  },
];

/** The tests that were skipped, one line for each reason; of those that give none, one for each file. */
export function skippedLines(ran: readonly Ran[]): string[] {
  const groups = new Map<string, { count: number; readonly reason: string; readonly files: Set<string> }>();
  for (const { file, tests } of ran) {
    const needs = isIdle(tests) ? CHAPTERS.find(({ holds }) => holds.test(file))?.needs : undefined;
    for (const { state, note } of tests) {
      if (state !== "skipped") continue;
      const reason = note ?? (needs === undefined ? "" : `needs ${needs}`);
      const key = reason === "" ? file : reason;
      const group = groups.get(key) ?? { count: 0, reason, files: new Set() };
      group.count += 1;
      group.files.add(file);
      groups.set(key, group);
    }
  }
  const lines = Array.from(groups.values(), ({ count, reason, files }) => {
    const [first] = files;
    return `  ${count} in ${files.size === 1 ? first : `${files.size} files`}${reason === "" ? "" : `: ${reason}`}`;
  });
  const total = [...groups.values()].reduce((sum, { count }) => sum + count, 0);
  return total === 0 ? ["skipped: nothing"] : [`skipped: ${total} tests`, ...lines];
}

function isIdle(tests: Ran["tests"]): boolean {
  return tests.every(({ state }) => state === "skipped");
}

/** Why each of the chapters that were wanted counts as left out: a file of its was skipped as a whole, or none ran. */
export function missingChapters(ran: readonly Ran[], wanted: readonly string[]): string[] {
  return wanted.flatMap((name) => {
    const chapter = CHAPTERS.find((one) => one.name === name);
    if (chapter === undefined) return [`QUICRPC_CHAPTERS: ${name} is no chapter`];
    const files = ran.filter(({ file }) => chapter.holds.test(file));
    const idle = files.filter(({ tests }) => isIdle(tests));
    if (files.length > 0 && idle.length === 0) return [];
    const left = files.length === 0 ? "no test of it ran" : `skipped: ${idle.map(({ file }) => file).join(", ")}`;
    return [`the chapter ${name} was left out (${left}); it needs ${chapter.needs}`];
  });
}
