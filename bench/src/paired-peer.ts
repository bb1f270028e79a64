// The hot paths in a process that stays, for `scripts/paired.mjs`: it says their names in a line of JSON, then answers each line
// {"path": INDEX, "runs": COUNT} with {"micros": CPU time of so many runs}. It ends when its standard input does.
import { createInterface } from "node:readline";
import { hotPaths } from "./hot-paths.js";

// Output of the packages is not an answer.
console.log = console.error;
const paths = await hotPaths();
say({ paths: paths.map(({ name }) => name) });
for await (const line of createInterface({ input: process.stdin })) {
  const { path, runs } = JSON.parse(line) as { path: number; runs: number };
  const before = process.cpuUsage();
  for (let run = 0; run < runs; run++) await paths[path]?.run();
  // Every slice pays for what it left, and not for what an earlier one did.
  globalThis.gc?.({ type: "minor" });
  const { user, system } = process.cpuUsage(before);
  say({ micros: user + system });
}
process.exit();

function say(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
