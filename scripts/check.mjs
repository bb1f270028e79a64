// Runs every gate, whichever of them fail, and ends with one line for each.
import { npm, run, setup } from "./setup.mjs";

const gates = [
  "gen:check",
  "typecheck",
  "lint",
  "format:check",
  "knip",
  "publint",
  "attw",
  "tarballs",
  "third-party:check",
  "check:mentions",
  "check:rust",
  "lint:workflows",
  "size",
  "limits:check",
  "reference:check",
  "figures:check",
  "layout:check",
  "cli:check",
  "snippets:check",
  "pictures:check",
  "docs:build",
  "bench:guard",
];

await setup();
const lines = [];
let failed = 0;
for (const gate of gates) {
  const started = performance.now();
  const { args, ...how } = npm(["run", "--silent", gate]);
  const { code, output } = await run(args, { ...how, capture: true });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (code !== 0) {
    failed += 1;
    console.log(`── npm run ${gate}\n${output.trimEnd()}\n`);
  }
  const skipped = output.match(/^skipped: .*/m)?.[0];
  lines.push(
    `${code === 0 ? (skipped === undefined ? "ok    " : "      ") : "FAILED"} ${gate} (${skipped ?? `${seconds} s`})`,
  );
}
console.log(lines.join("\n"));
process.exit(failed === 0 ? 0 : 1);
