// The example of docs/topics.md, as a reader would run it.
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  await mkdir(join(here, ".cache"), { recursive: true });
  folder = await mkdtemp(join(here, ".cache/topics-"));
});
afterAll(() => rm(folder, { recursive: true }));

it("compiles, and carries a message", async () => {
  const page = await readFile(join(root, "docs/topics.md"), "utf8");
  const port = await freePort();
  for (const name of ["chat.service.ts", "server.ts", "client.ts"]) {
    const [, code = ""] = page.split(`\`\`\`ts\n// ${name}\n`)[1]?.match(/^([^]*?)```/) ?? [];
    expect(code).not.toBe("");
    await writeFile(join(folder, name), code.replaceAll("4433", String(port)));
  }
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const compilerOptions = { strict: true, module: "nodenext", target: "es2022", types: ["node"], skipLibCheck: true };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  await run(process.execPath, [join(root, "packages/cli/dist/main.js"), "gen", "chat.service.ts"], { cwd: folder });
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder]);
  const server = spawn(process.execPath, ["server.js"], { cwd: folder, stdio: "inherit" });
  try {
    const { stdout } = await run(process.execPath, ["client.js"], { cwd: folder });
    expect(stdout).toBe("Ada: hello\n");
  } finally {
    server.kill();
  }
}, 60_000);
