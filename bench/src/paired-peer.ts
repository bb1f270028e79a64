// Runs the hot paths in a long-lived process for `bench/paired.mjs`. It prints their names as a line of JSON, then
// answers each line {"path": INDEX, "runs": COUNT} with {"micros": CPU time of these runs}. It ends when its standard
// input ends.
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
  // Collect now, so that every slice pays for its own garbage only.
  globalThis.gc?.({ type: "minor" });
  const { user, system } = process.cpuUsage(before);
  say({ micros: user + system });
}
process.exit();

function say(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
