// npm run packages:check: packs what is published, once, and has publint and attw check each tarball.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "./pack.mjs";
import { fail, run } from "./setup.mjs";

const publint = ["node_modules/publint/src/cli.js", "--strict"];
const attw = ["node_modules/@arethetypeswrong/cli/dist/index.js", "--profile", "esm-only"];

const scratch = mkdtempSync(join(tmpdir(), "quicrpc-packages-"));
const faults = [];
try {
  const packed = await pack(scratch);
  // An engine is a binary, and create-quicrpc only a command: neither has type declarations.
  for (const { name, path } of packed.filter(({ name }) => !name.startsWith("@quicrpc/quic-"))) {
    for (const check of name === "create-quicrpc" ? [publint] : [publint, attw]) {
      const { code, output } = await run([...check, path], { capture: true });
      // attw accepts a package that has no types at all.
      if (code !== 0 || output.includes("does not contain types")) faults.push(`${name}\n${output.trimEnd()}`);
    }
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
if (faults.length > 0) fail(faults.join("\n"));
