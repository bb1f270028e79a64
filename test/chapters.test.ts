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
];

describe("a run says what it left out", () => {
  it("by file and reason", () => {
    const noted = { name: "two", state: "skipped", note: "it needs bun" } as const;
    const lines = skippedLines([...everything, { file: "a.test.ts", tests: [noted, noted] }]);
    expect(lines).toEqual([
      "skipped: 3 tests",
      "  1 of packages/quic/test/browser.test.ts",
      "  2 of a.test.ts: it needs bun",
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
    expect(missingChapters(everything, ["safari"])).toEqual(["QUICRPC_CHAPTERS: safari is no chapter"]);
  });
});
