// Lints .github/workflows: actions are named by commit, and actionlint, which Go fetches and builds by itself, finds nothing.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root, run } from "./setup.mjs";

const folder = join(root, ".github/workflows");
// A tag can be moved to other code; a comment says which one it was.
const BY_COMMIT = /^(\.\/.*|[^@\s]+@[0-9a-f]{40}\s+#\s*v\d.*)$/;
let unpinned = 0;
for (const name of readdirSync(folder)) {
  const lines = readFileSync(join(folder, name), "utf8").split("\n");
  for (const [at, line] of lines.entries()) {
    const uses = /^\s*(?:-\s*)?uses:\s*(.*?)\s*$/.exec(line)?.[1];
    if (uses === undefined || BY_COMMIT.test(uses)) continue;
    unpinned++;
    console.error(`${name}:${at + 1}: ${uses} is not named by its commit: owner/action@<40 digits> # v1.2.3`);
  }
}

const { code: noGo } = await run(["version"], { command: "go", capture: true });
if (noGo !== 0) {
  console.log("skipped: actionlint needs Go, or run it by hand");
  process.exit(unpinned > 0 ? 1 : 0);
}
const { code } = await run(
  ["run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12", "-shellcheck=", "-pyflakes="],
  {
    command: "go",
  },
);
process.exit(unpinned > 0 ? 1 : code);
