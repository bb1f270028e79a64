// npm run toolchains: the packed tarballs in a project with each bundler, test runner and way to run TypeScript that servers are made
// with. Each serves and calls over QUIC, and has to end by itself. Needs the network and some minutes.
//   npm run toolchains -- webpack     the rows with "webpack" in their names
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { platformName } from "../packages/quic/scripts/platforms.mjs";
import { pack } from "./pack.mjs";
import { fail, npm, run, setup } from "./setup.mjs";

const tools = {
  "@rollup/plugin-commonjs": "^29.0.0",
  "@rollup/plugin-node-resolve": "^16.0.0",
  "@types/node": "^22.0.0",
  bun: "^1.3.0",
  deno: "^2.5.0",
  esbuild: "^0.28.0",
  jest: "^30.0.0",
  rollup: "^4.0.0",
  "ts-node": "^10.9.2",
  tsx: "^4.0.0",
  typescript: "^5.9.0",
  vitest: "^4.0.0",
  webpack: "^5.100.0",
  "webpack-cli": "^6.0.0",
};

const files = {
  "app.mjs": `
    import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
    import { connect, devCertificate, serve } from "@quicrpc/node";
    const number = uncheckedCodec();
    const service = { name: "demo.v1.Twice", id: 9001 };
    const methods = { twice: defineMethod(service, "unary", "twice", { id: 1, input: number, output: number }) };
    export async function run() {
      const tls = await devCertificate();
      const router = createRouter(methods, { twice: (n) => 2 * n });
      const server = await serve({ listen: ["quic://127.0.0.1:0"], tls, routers: [router] });
      const session = await connect(server.urls[0], { serverCertificateHashes: [tls.hash] });
      const answer = await session.unary(methods.twice, 9);
      await session.close();
      await server.close();
      return answer;
    }`,
  "main.mjs": `import { run } from "./app.mjs"; run().then((n) => console.log("answer " + n));`,
  "main.mts": `import { run } from "./app.mjs"; const n: number = await run(); console.log("answer " + n);`,
  "main.cts": `import("./app.mjs").then(async ({ run }) => { const n: number = await run(); console.log("answer " + n); });`,
  "app.d.mts": "export function run(): Promise<number>;",
  "tsconfig.json": '{ "compilerOptions": { "module": "node16", "target": "es2022", "skipLibCheck": true } }',
  "rollup.config.mjs": `
    import commonjs from "@rollup/plugin-commonjs";
    import resolve from "@rollup/plugin-node-resolve";
    export default { input: "main.mjs", external: /^node:/, plugins: [resolve({ preferBuiltins: true }), commonjs()],
      output: [{ dir: "out/rollup", format: "es", entryFileNames: "main.mjs" },
        { dir: "out/rollup-cjs", format: "cjs", entryFileNames: "main.cjs", chunkFileNames: "[name].cjs" }] };`,
  "webpack.config.cjs": `
    const path = require("node:path").join(__dirname, "out/webpack");
    module.exports = { mode: "none", target: "node20", entry: "./main.mjs", output: { path, filename: "main.cjs" } };`,
  "node/calls.test.mjs": `
    import assert from "node:assert"; import { test } from "node:test"; import { run } from "../app.mjs";
    test("calls", async () => assert.equal(await run(), 18));`,
  "vitest/calls.test.mjs": `
    import { expect, test } from "vitest"; import { run } from "../app.mjs";
    test("calls", async () => expect(await run()).toBe(18));`,
  "jest/calls.test.mjs": `
    import { run } from "../app.mjs";
    test("calls", async () => expect(await run()).toBe(18));`,
  "jest/required.test.cjs": `test("requires", () => void require("@quicrpc/node"));`,
  "bun/calls.test.mjs": `
    import { expect, test } from "bun:test"; import { run } from "../app.mjs";
    test("calls", async () => expect(await run()).toBe(18));`,
  "deno/calls.test.mjs": `
    import { run } from "../app.mjs";
    Deno.test("calls", async () => { if (await run() !== 18) throw new Error("another answer"); });`,
};

const esbuild = "esbuild main.mjs --bundle --platform=node --log-level=error";
const ANSWER = /^answer 18$/m;
const [major, minor] = process.versions.node.split(".").map(Number);
const requiresModules = major > 24 || (major === 24 && minor >= 9);

/** Commands, one after the other; the output of the last has to match, and all have to end well unless the row is a failure. */
const rows = [
  { name: "node", commands: ["node main.mjs"], expect: ANSWER },
  {
    name: "esbuild, ESM",
    commands: [`${esbuild} --format=esm --outfile=out/esm.mjs`, "node out/esm.mjs"],
    expect: ANSWER,
  },
  {
    name: "esbuild, CommonJS",
    commands: [`${esbuild} --format=cjs --outfile=out/cjs.cjs`, "node out/cjs.cjs"],
    expect: ANSWER,
  },
  {
    name: "Rollup, ESM and CommonJS",
    commands: ["rollup -c --silent", "node out/rollup/main.mjs", "node out/rollup-cjs/main.cjs"],
    expect: ANSWER,
  },
  { name: "webpack", commands: ["webpack", "node out/webpack/main.cjs"], expect: ANSWER },
  {
    name: "bun build",
    commands: ["bun build main.mjs --target=node --outfile=out/bun.mjs", "node out/bun.mjs"],
    expect: ANSWER,
  },
  { name: "tsx", commands: ["tsx main.mts"], expect: ANSWER },
  { name: "ts-node, CommonJS", commands: ["ts-node main.cts"], expect: ANSWER },
  ...(major < 22
    ? []
    : [{ name: "type stripping", commands: ["node --experimental-strip-types main.mts"], expect: ANSWER }]),
  { name: "node:test", commands: ["node --test node/"], expect: /^(# |ℹ )pass 1$/m },
  { name: "Vitest", commands: ["vitest run --dir vitest"], expect: /Tests +1 passed/ },
  {
    name: "Jest, ES modules",
    commands: ["jest --testMatch **/jest/*.test.mjs"],
    env: { NODE_OPTIONS: "--experimental-vm-modules" },
    expect: /1 passed/,
  },
  {
    name: "Jest, CommonJS",
    commands: ["jest --testMatch **/jest/*.test.cjs"],
    fails: !requiresModules,
    expect: requiresModules ? /1 passed/ : /Use Node v24\.9\+|require\(esm\)/,
  },
  { name: "bun", commands: ["bun main.mjs"], expect: ANSWER },
  { name: "bun test", commands: ["bun test ./bun/calls.test.mjs"], expect: /1 pass/ },
  { name: "deno", commands: ["deno run --allow-all main.mjs"], expect: ANSWER },
  { name: "deno test", commands: ["deno test --allow-all deno/"], expect: /1 passed/ },
];

const SECONDS = 120;

await setup();
const scratch = mkdtempSync(join(tmpdir(), "quicrpc-toolchains-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }));
const project = join(scratch, "project");
await install();
const wanted = process.argv.slice(2).join(" ");
const faults = [];
for (const row of rows.filter(({ name }) => name.includes(wanted))) {
  const fault = await tried(row);
  console.log(`${fault === undefined ? "ok    " : "FAILED"} ${row.name}`);
  if (fault !== undefined) faults.push(`── ${row.name}\n${fault}`);
}
if (faults.length > 0) fail(faults.join("\n"));

async function install() {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, name)), { recursive: true });
    writeFileSync(join(project, name), text);
  }
  const ours = ["@quicrpc/core", "@quicrpc/quic", "@quicrpc/node", `@quicrpc/quic-${platformName()}`];
  const packed = (await pack(join(scratch, "tarballs"))).filter(({ name }) => ours.includes(name));
  const dependencies = { ...tools, ...Object.fromEntries(packed.map(({ name, path }) => [name, `file:${path}`])) };
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, dependencies }));
  const { args, ...how } = npm(["install", "--prefer-offline", "--no-audit", "--no-fund"]);
  const { code, output } = await run(args, { ...how, cwd: project, capture: true });
  if (code !== 0) fail("npm install of the tools failed.", output);
}

/** What went wrong, if anything did. */
async function tried({ commands, env, expect, fails = false }) {
  let last = "";
  for (const command of commands) {
    const { args, ...how } = npm(["exec", "--offline", "--", ...command.split(" ")]);
    const limit = new Promise((resolve) =>
      setTimeout(resolve, SECONDS * 1000, { code: 1, output: "it has not ended" }).unref(),
    );
    const { code, output } = await Promise.race([
      run(args, { ...how, cwd: project, env: { NO_COLOR: "1", ...env }, capture: true }),
      limit,
    ]);
    last = output;
    if ((code !== 0) !== fails) return `${command}: exit code ${code}\n${output.slice(-3000)}`;
  }
  return expect.test(last) ? undefined : `nothing matches ${expect}:\n${last.slice(-3000)}`;
}
