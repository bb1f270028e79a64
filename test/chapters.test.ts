import { describe, expect, it } from "vitest";
import { missingChapters, type Ran, skippedLines } from "./chapters.js";

function ran(file: string, ...states: readonly ("passed" | "skipped")[]): Ran {
  return { file, tests: states.map((state) => ({ name: "one", state, note: undefined })) };
}

const everything = [
  ran("packages/quic/test/streams.test.ts", "passed"),
  ran("packages/quic/test/browser.test.ts", "passed", "skipped"),
  ran("test/browser/memory.test.ts", "passed"),
  ran("test/browser/firefox.test.ts", "passed"),
  ran("test/browser/cluster.test.ts", "passed"),
];

describe("a run says what it left out", () => {
  it("in a line for each reason, or for each file where there is none", () => {
    const noted = { name: "two", state: "skipped", note: "it needs bun" } as const;
    const of = (file: string): Ran => ({ file, tests: [noted, noted] });
    expect(skippedLines([...everything, of("a.test.ts")])).toEqual([
      "skipped: 3 tests",
      "  1 in packages/quic/test/browser.test.ts",
      "  2 in a.test.ts: it needs bun",
    ]);
    const idle = ["scopes", "memory"].map((name) => ran(`test/browser/${name}.test.ts`, "skipped", "skipped"));
    expect(skippedLines([of("a.test.ts"), of("b.test.ts"), ...idle])).toEqual([
      "skipped: 8 tests",
      "  4 in 2 files: it needs bun",
      expect.stringMatching(/^ {2}4 in 2 files: needs a Chromium: as root `apt-get install chromium`/),
    ]);
    expect(skippedLines([ran("a.test.ts", "passed")])).toEqual(["skipped: nothing"]);
  });

  it("and fails where it left out a chapter that it should run", () => {
    const wanted = ["engine", "chromium", "firefox"];
    expect(missingChapters(everything, wanted)).toEqual([]);
    const without = everything.filter(({ file }) => !file.includes("firefox"));
    expect(missingChapters(without, wanted)).toEqual([
      expect.stringMatching(/firefox was left out \(no test of it ran/),
    ]);
    const skipped = [...everything, ran("test/browser/whiteboard.test.ts", "skipped", "skipped")];
    expect(missingChapters(skipped, wanted)).toEqual([
      expect.stringMatching(/chromium was left out \(skipped: test\/browser\/whiteboard\.test\.ts\).*apt-get install/),
    ]);
    expect(missingChapters(skipped, [])).toEqual([]);
    const balancers = [...everything.slice(0, -1), ran("test/browser/cluster.test.ts", "skipped")];
    expect(missingChapters(balancers, wanted)).toEqual([]);
    expect(missingChapters(balancers, ["cluster"])).toEqual([
      expect.stringMatching(/cluster was left out \(skipped: .*apt-get install chromium haproxy/),
    ]);
    expect(missingChapters(everything, ["safari"])).toEqual(["QUICRPC_CHAPTERS: safari is no chapter"]);
  });
});
