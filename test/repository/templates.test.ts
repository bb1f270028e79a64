// `npm run templates` makes a project of each template; here of one.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

it("a project of the template for Node installs, generates, tests, lints, builds and runs", {
  timeout: 300_000,
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["test/packed/templates.mjs", "node"], { cwd: root });
  expect(stdout).toMatch(/^node: ok, \d+ s$/m);
});
