// Runs a check over every package that is published: `node scripts/packages.mjs publint`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectsIn } from "./output.mjs";
import { root, run } from "./setup.mjs";

const checks = {
  publint: (folder) => ["node_modules/publint/src/cli.js", "--strict", folder],
  attw: (folder) => ["node_modules/@arethetypeswrong/cli/dist/index.js", "--profile", "esm-only", "--pack", folder],
};

const check = process.argv[2];
let failed = false;
for (const name of projectsIn(join(root, "packages"))) {
  const folder = join("packages", name);
  const { exports } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  // A package that exports nothing, such as a command, has no types to be wrong about.
  if (check === "attw" && exports["."] === undefined) continue;
  const { code, output } = await run(checks[check](folder), { capture: true });
  // attw is content with a package that has no types at all.
  const ok = code === 0 && !output.includes("does not contain types");
  console.log(ok ? `${check} ${folder}: ok` : `${check} ${folder}: failed\n${output.trimEnd()}`);
  failed ||= !ok;
}
process.exit(failed ? 1 : 0);
