import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { generateArith } from "./generate.js";

it("the generator writes what is here already", async () => {
  const folder = fileURLToPath(new URL("..", import.meta.url));
  const file = fileURLToPath(new URL("generated/arith.ts", import.meta.url));
  const before = readFileSync(file, "utf8");
  // Test workers cannot change their working directory, so the guide's paths are inside the project's folder.
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
  onTestFinished(() => cwd.mockRestore());
  expect((await generateArith()).some((path) => path.endsWith("arith.ts"))).toBe(true);
  expect(readFileSync(file, "utf8")).toBe(before);
});
