// Tests that the program in packages/core/README.md prints the documented output.
import { readFile } from "node:fs/promises";
import { expect, it, vi } from "vitest";

it("a method that is described by hand is served and called", async () => {
  const program = await readFile(new URL("by-hand.ts", import.meta.url), "utf8");
  const promised = Array.from(program.matchAll(/console\.log\(.*\); \/\/ (.*)/g), ([, text]) => text);
  expect(promised).not.toEqual([]);
  const log = vi.spyOn(console, "log").mockReturnValue();
  await import("./by-hand.js");
  expect(log.mock.calls.map(String)).toEqual(promised);
});
