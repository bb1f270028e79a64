// Publishing with a registry that is a folder: what an earlier run published is passed over, in order, and never replaced.
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/publish.mjs", import.meta.url));
const run = promisify(execFile);

/** npm as far as publishing needs it: a line of the registry is a name, a version and an integrity. */
const NPM = `#!/usr/bin/env node
const { appendFileSync, existsSync, readFileSync } = require("node:fs");
const { createHash } = require("node:crypto");
const [verb, spec, ...rest] = process.argv.slice(2);
const lines = existsSync(process.env.REGISTRY) ? readFileSync(process.env.REGISTRY, "utf8").split("\\n").filter(Boolean) : [];
if (verb === "view") {
  if (process.env.DOWN) { console.error("npm error code ECONNREFUSED"); process.exit(1); }
  const line = lines.find((line) => line.startsWith(spec + " "));
  if (line === undefined) { console.error("npm error code E404"); process.exit(1); }
  console.log(JSON.stringify(line.split(" ")[1]));
} else {
  const [, name] = /quicrpc-(\\w+)-1/.exec(spec);
  if (name === process.env.REFUSED) { console.error("npm error code E403"); process.exit(1); }
  const integrity = "sha512-" + createHash("sha512").update(readFileSync(spec)).digest("base64");
  if (!rest.includes("--dry-run")) appendFileSync(process.env.REGISTRY, "@quicrpc/" + name + "@1.0.0 " + integrity + "\\n");
}`;

let scratch: string;
let registry: string;

async function pack(turn: number, name: string, description: string): Promise<void> {
  const stage = await mkdtemp(join(scratch, "stage-"));
  await mkdir(join(scratch, "tarballs", String(turn)), { recursive: true });
  await writeFile(
    join(stage, "package.json"),
    JSON.stringify({ name: `@quicrpc/${name}`, version: "1.0.0", description }),
  );
  await run("npm", ["pack", stage, "--pack-destination", join(scratch, "tarballs", String(turn))]);
}

async function publish(env: Record<string, string> = {}, ...options: string[]): Promise<{ code: number; out: string }> {
  const path = `${join(scratch, "bin")}${delimiter}${process.env["PATH"]}`;
  try {
    const args = [script, join(scratch, "tarballs"), ...options];
    const { stdout } = await run(process.execPath, args, {
      env: { ...process.env, PATH: path, REGISTRY: registry, ...env },
    });
    return { code: 0, out: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout + stderr };
  }
}

async function published(): Promise<string[]> {
  const text = await readFile(registry, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [line.split(" ")[0] as string]));
}

// A command without an extension is none on Windows.
describe.skipIf(process.platform === "win32")("scripts/publish.mjs", () => {
  beforeEach(async () => {
    scratch = await mkdtemp(join(tmpdir(), "quicrpc-publish-"));
    registry = join(scratch, "registry");
    await mkdir(join(scratch, "bin"));
    await pack(9, "engine", "");
    await pack(10, "core", "");
    await pack(11, "node", "");
    await writeFile(join(scratch, "bin/npm"), NPM);
    await chmod(join(scratch, "bin/npm"), 0o755);
  }, 60_000);
  afterEach(() => rm(scratch, { recursive: true, force: true }));

  it("publishes in order, and goes on where a run was ended", async () => {
    const ended = await publish({ REFUSED: "core" });
    expect(ended).toMatchObject({
      code: 1,
      out: expect.stringContaining("npm publish @quicrpc/core: npm error code E403"),
    });
    expect(await published()).toEqual(["@quicrpc/engine@1.0.0"]);
    expect(await publish()).toEqual({
      code: 0,
      out: "@quicrpc/engine 1.0.0: is published already\n@quicrpc/core 1.0.0: is published\n@quicrpc/node 1.0.0: is published\n",
    });
    expect(await published()).toEqual(["@quicrpc/engine@1.0.0", "@quicrpc/core@1.0.0", "@quicrpc/node@1.0.0"]);
  });

  it("stops at a version that is published with other contents", async () => {
    await writeFile(registry, "@quicrpc/core@1.0.0 sha512-other\n");
    const { code, out } = await publish();
    expect(code).toBe(1);
    expect(out).toContain("@quicrpc/core 1.0.0 is published with other contents");
  });

  it("does not take a registry that is down for one without the package", async () => {
    const { code, out } = await publish({ DOWN: "1" });
    expect(code).toBe(1);
    expect(out).toContain("ECONNREFUSED");
    expect(await published()).toEqual([]);
  });

  it("publishes nothing in a dry run", async () => {
    expect((await publish({}, "--dry-run")).out).toContain("@quicrpc/node 1.0.0: would be published");
    expect(await published()).toEqual([]);
  });
});
