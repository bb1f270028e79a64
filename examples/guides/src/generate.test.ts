import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { generateArith } from "./generate.js";

it("the generator writes what is here already", async () => {
  const folder = fileURLToPath(new URL("..", import.meta.url));
  const file = fileURLToPath(new URL("generated/arith.ts", import.meta.url));
  const before = readFileSync(file, "utf8");
  // Workers of tests cannot change their folder: the paths of the guide lie in that of the project.
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
  onTestFinished(() => cwd.mockRestore());
  expect((await generateArith()).some((path) => path.endsWith("arith.ts"))).toBe(true);
  expect(readFileSync(file, "utf8")).toBe(before);
});
