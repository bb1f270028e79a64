// The cost of 500 methods: to generate, and to type-check a client that calls each of them; the same with tRPC, whose types are
// inferred. `npm run bench types [-- --json]`.
import { generate, writeGenerated } from "@quicrpc/codegen";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { schemaOfMany } from "./many-schema.js";

const SERVICES = 10;
const METHODS = 50;
const ROUNDS = 3;

const directory = fileURLToPath(new URL("../.cache/types", import.meta.url));
const TSC = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));

/** Returns a program that calls every method, and so checks every signature. */
function program(): string {
  const calls = Array.from({ length: SERVICES }, (_, service) => {
    const lines = Array.from({ length: METHODS }, (_, index) =>
      index % 5 === 0
        ? `  for await (const { ok } of service${service}.method${index}(input)) console.log(ok);\n`
        : `  console.log((await service${service}.method${index}(input)).list[0]?.b);\n`,
    );
    return `export async function use${service}(caller: Caller): Promise<void> {\n  const service${service} = createService${service}Client(caller);\n${lines.join("")}}\n`;
  });
  const names = Array.from({ length: SERVICES }, (_, service) => `createService${service}Client`);
  return `import type { Caller } from "@quicrpc/core";
import { ${names.join(", ")} } from "./generated/bench.js";
const input = { id: 1, user: { id: "", name: "" }, tags: [] };
${calls.join("")}`;
}

/** Returns the same procedures in tRPC, whose clients are typed by the router's type. */
function trpcRouter(): string {
  const method = (index: number): string => `    method${index}: t.procedure
      .input(z.object({ id: z.int(), user: User, tags: z.array(z.string()).max(10), at: z.date().optional() }))
      .output(z.object({ ok: z.boolean(), list: z.array(z.object({ a: z.number(), b: z.string().nullable() })) }))
      .query(() => ({ ok: true, list: [] })),\n`;
  const routers = Array.from({ length: SERVICES }, (_, service) => {
    const methods = Array.from({ length: METHODS }, (_, index) => method(index)).join("");
    return `  service${service}: t.router({\n${methods}  }),\n`;
  });
  return `import { initTRPC } from "@trpc/server";
import { z } from "zod";
const t = initTRPC.create();
const User = z.object({ id: z.uuid(), name: z.string().min(1), email: z.email().optional(), role: z.enum(["a", "b"]).default("a") });
export const router = t.router({\n${routers.join("")}});
export type AppRouter = typeof router;\n`;
}

function trpcProgram(): string {
  const calls = Array.from({ length: SERVICES }, (_, service) => {
    const lines = Array.from(
      { length: METHODS },
      (_, index) => `  console.log((await client.service${service}.method${index}.query(input)).list[0]?.b);\n`,
    );
    return `export async function use${service}(): Promise<void> {\n${lines.join("")}}\n`;
  });
  return `import { createTRPCClient } from "@trpc/client";
import type { AppRouter } from "./router.js";
const client = createTRPCClient<AppRouter>({ links: [] });
const input = { id: 1, user: { id: "", name: "" }, tags: [] };
${calls.join("")}`;
}

/** Returns the minimum wall-clock time of some rounds in ms, because disturbances only make a run longer. */
async function least(run: () => unknown, rounds = ROUNDS): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const started = performance.now();
    await run();
    times.push(performance.now() - started);
  }
  return Math.min(...times);
}

/** Type-checks a program. */
function compile(project: string): void {
  const { status, stdout } = spawnSync(process.execPath, [TSC, "-p", project], { cwd: directory, encoding: "utf8" });
  if (status !== 0) throw new Error(`${project} does not compile:\n${stdout}`);
}

rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const file = join(directory, "bench.service.ts");
writeFileSync(file, schemaOfMany({ services: SERVICES, methods: METHODS }));
writeFileSync(join(directory, "program.ts"), program());
writeFileSync(join(directory, "router.ts"), trpcRouter());
writeFileSync(join(directory, "trpc.ts"), trpcProgram());
for (const [name, file] of [
  ["tsconfig.json", "program.ts"],
  ["trpc.json", "trpc.ts"],
] as const) {
  const compilerOptions = {
    target: "es2023",
    module: "nodenext",
    lib: ["es2023", "dom", "esnext.disposable"],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
  };
  writeFileSync(join(directory, name), JSON.stringify({ compilerOptions, files: [file] }));
}

const started = performance.now();
const cpuBefore = process.cpuUsage();
const { files, diagnostics } = await generate({ files: [file], importExtension: "js", target: "client" });
const firstMs = performance.now() - started;
const { user, system } = process.cpuUsage(cpuBefore);
const firstCpuMs = (user + system) / 1000;
if (diagnostics.length > 0) throw new Error(diagnostics.map(({ message }) => message).join("\n"));
writeGenerated(files);
const againMs = await least(() => generate({ files: [file], importExtension: "js", target: "client" }));
// In turns, so that other load on the machine affects both.
const compileTimes = { generated: Number.POSITIVE_INFINITY, trpc: Number.POSITIVE_INFINITY };
for (let round = 0; round < ROUNDS; round++) {
  compileTimes.generated = Math.min(compileTimes.generated, await least(() => compile("tsconfig.json"), 1));
  compileTimes.trpc = Math.min(compileTimes.trpc, await least(() => compile("trpc.json"), 1));
}

const result = {
  methods: SERVICES * METHODS,
  generateMs: firstMs,
  generateCpuMs: firstCpuMs,
  generateAgainMs: againMs,
  compileMs: compileTimes.generated,
  trpcCompileMs: compileTimes.trpc,
};
if (process.argv.includes("--json")) {
  console.log(JSON.stringify(result));
} else {
  console.log(`${result.methods} methods`);
  console.log(`generate, the first time   ${Math.round(firstMs)} ms, CPU ${Math.round(firstCpuMs)} ms`);
  console.log(`generate, when watching    ${Math.round(againMs)} ms`);
  console.log(`tsc, a client of them      ${Math.round(result.compileMs)} ms`);
  console.log(`tsc, the same with tRPC    ${Math.round(result.trpcCompileMs)} ms`);
}
