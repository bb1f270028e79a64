// node test/packed/toolchains.mjs: the packed tarballs in a project with each bundler, test runner and way to run TypeScript that servers are made
// with. Each serves and calls over QUIC, and has to end by itself. Needs the network and some minutes.
//   node test/packed/toolchains.mjs webpack     the rows with "webpack" in their names
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { platformName } from "../../packages/quic/scripts/platforms.mjs";
import { tryRows } from "./rows.mjs";

const dependencies = {
  "@quicrpc/core": "*",
  "@quicrpc/node": "*",
  [`@quicrpc/quic-${platformName()}`]: "*",
  "@rollup/plugin-commonjs": "^29.0.0",
  "@rollup/plugin-node-resolve": "^16.0.0",
  "@types/node": "^22.0.0",
  bun: "^1.3.0",
  deno: "^2.5.0",
  esbuild: "^0.28.0",
  jest: "^30.0.0",
  next: "^16.0.0",
  react: "^19.0.0",
  "react-dom": "^19.0.0",
  rollup: "^4.0.0",
  "ts-node": "^10.9.2",
  tsx: "^4.0.0",
  typescript: "^5.9.0",
  vitest: "^4.0.0",
  webpack: "^5.100.0",
  "webpack-cli": "^6.0.0",
};

const files = {
  "package.json": JSON.stringify({ private: true, dependencies }),
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
  "next/next.config.mjs": `export default { serverExternalPackages: ["@quicrpc/quic"] };`,
  "next/app/layout.js": "export default ({ children }) => <html><body>{children}</body></html>;",
  "next/app/page.js": "export default () => <p>page</p>;",
  "next/app/twice/route.js": `
    import { run } from "../../../app.mjs";
    export const dynamic = "force-dynamic";
    export const GET = async () => new Response("answer " + (await run()));`,
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
  ...["webpack", "turbopack"].map((bundler) => ({
    name: `Next route handler, ${bundler}`,
    commands: [`next build next --${bundler}`],
    serve: "next start next -p 0",
    env: { NEXT_TELEMETRY_DISABLED: "1" },
    call: async (url) => {
      const answer = await (await fetch(`${url}/twice`)).text();
      return ANSWER.test(answer) ? undefined : answer;
    },
  })),
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

function fill(folder) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

await tryRows([{ fill, rows }]);
