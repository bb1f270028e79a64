// Lints .github/workflows with actionlint, which Go fetches and builds by itself.
import { run } from "./setup.mjs";

const { code: noGo } = await run(["version"], { command: "go", capture: true });
if (noGo !== 0) {
  console.log("skipped: needs Go, or run actionlint by hand");
  process.exit(0);
}
const { code } = await run(
  ["run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12", "-shellcheck=", "-pyflakes="],
  {
    command: "go",
  },
);
process.exit(code);
