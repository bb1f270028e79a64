import { spawn } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generate, writeGenerated } from "../src/index.js";
import { schemas } from "./codec/schemas.js";
import { createWorkspace, fixture, writeChecked } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const STRICT = {
  target: "es2022",
  lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  skipLibCheck: true,
  isolatedDeclarations: true,
  declaration: true,
  noEmit: true,
};
const RESOLUTIONS = {
  nodenext: { module: "nodenext", moduleResolution: "nodenext" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
};
const COMPILERS = ["typescript-5.9", "typescript-6", "typescript"];

beforeAll(async () => {
  const schemas = ["rich.service.ts", "wide.service.ts", "shared.ts"].map((name) => {
    copyFileSync(fixture(name), join(workspace.path, name));
    return join(workspace.path, name);
  });
  const passedOn = workspace.write("all.service.ts", 'export { Rich, Second as Other } from "./rich.service.js";\n');
  const topicsAlone = workspace.write(
    "rooms.service.ts",
    'import { service } from "@quicrpc/core";\nimport { topic } from "@quicrpc/topics";\nimport { z } from "zod";\n' +
      ["Rooms", "Topic", "Served", "Process"]
        .map(
          (name) =>
            `export const ${name} = service("test.v1.${name}", { room: topic("room.{id}", z.object({ text: z.string() })) });\n`,
        )
        .join(""),
  );
  const inputs = [...schemas.slice(0, 2), passedOn, topicsAlone];
  const written: string[] = [];
  for (const target of ["both", "client", "server"] as const) {
    const { files } = await generate({
      files: inputs,
      importExtension: "js",
      target,
      out: join(workspace.path, target),
    });
    writeChecked(files);
    written.push(...files.map(({ path }) => path));
  }
  if (written.length !== 33) throw new Error(`Generated: ${written.join(", ")}.`);
  for (const [name, options] of Object.entries(RESOLUTIONS)) {
    workspace.write(`${name}.json`, JSON.stringify({ compilerOptions: { ...STRICT, ...options }, files: written }));
  }

  const { files } = await generate({ files: inputs, importExtension: "js", out: join(workspace.path, "unchecked") });
  writeGenerated(files);
  const emitting = { ...STRICT, ...RESOLUTIONS.nodenext, noEmit: false, rootDir: "." };
  workspace.write(
    "emit.json",
    JSON.stringify({
      compilerOptions: emitting,
      files: files.map(({ path }) => path).filter((path) => path.endsWith(".ts")),
    }),
  );
});

test.each(
  COMPILERS.flatMap((compiler) => Object.keys(RESOLUTIONS).map((resolution) => [compiler, resolution] as const)),
)("%s compiles generated code under %s", { timeout: 120_000 }, async (compiler, resolution) => {
  expect(await complaints(compiler, "-p", `${resolution}.json`)).toEqual([]);
});

test.each(COMPILERS)(
  "%s writes the declarations of generated code as it is",
  { timeout: 120_000 },
  async (compiler) => {
    expect(await complaints(compiler, "-p", "emit.json", "--outDir", compiler)).toEqual([]);
    const emitted = (name: string): string => readFileSync(join(workspace.path, compiler, "unchecked", name), "utf8");
    expect(emitted("rich.codecs.d.ts")).toContain("export declare const userCodec: MessageCodec<User, UserParsed>;");
    expect(emitted("rich.d.ts")).toContain("export declare function createRichClient(caller: Caller): RichClient;");
  },
);

/** Names that generated files import, declare or use as global types. */
const OCCUPIED = [
  ..."Any Awaitable CallContext CallOptions Caller DuplexStream ItemStream MessageCodec MethodDescriptor Router RpcErrorOf".split(
    " ",
  ),
  ..."StreamSource UnsharedBytes createRouter wire".split(" "),
  ..."OccupiedClient OccupiedHandlers createOccupiedRouter occupiedMethods OccupiedUnaryCallerError OccupiedUnaryCallerOutput".split(
    " ",
  ),
  ..."Caller2Parsed caller2Codec readCaller2 caller2Shape emailPattern Context".split(" "),
  ..."Array Date Map Object Partial Promise Readonly Record Set String Uint8Array".split(" "),
];
/** Literals that TypeScript writes in another way than JavaScript, or not at all. */
const LITERALS = [
  "z.literal(Infinity)",
  "z.literal([NaN, -Infinity, -0, 1e21, 5e-324, -5n, undefined, null])",
  "z.object({ a: z.literal(NaN).default(NaN), b: z.number().min(-Infinity).default(-Infinity) })",
  'z.templateLiteral(["a", z.literal([Infinity, 1n])])',
  'z.enum({ A: Infinity as number, B: "b" })',
  'z.record(z.literal([1, "a"]), z.literal(-Infinity))',
];
const SAMPLES = 60;

test("the compiler accepts what is generated of any schema and any name", { timeout: 120_000 }, async () => {
  const occupied = workspace.write(
    "occupied.service.ts",
    [
      'import { notify, rpc, service, stream } from "@quicrpc/core";\nimport { z } from "zod";',
      "const Bytes = globalThis.Uint8Array;",
      ...OCCUPIED.map(
        (name) =>
          `const Of${name} = z.object({ e: z.email(), d: z.date(), x: z.xor([z.int(), z.map(z.string(), z.instanceof(Bytes))]) })` +
          `.refine(() => true);\nexport { Of${name} as ${name} };`,
      ),
      'export const Occupied = service("test.v1.Occupied", {',
      ...OCCUPIED.map(
        (name) =>
          `unary${name}: rpc({ input: Of${name}, output: z.array(Of${name}), errors: { E: { code: "not_found", details: Of${name} } } }),`,
      ),
      "stream: rpc({ input: stream(OfCaller), output: stream(OfCaller) }), notify: notify({ input: OfCaller }),",
      "});",
    ].join("\n"),
  );
  const samples = fc.sample(schemas(3), { numRuns: SAMPLES, seed: 1 }).map(({ source }) => source);
  const sampled = workspace.write(
    "sampled.service.ts",
    [
      'import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";',
      'export const Sampled = service("test.v1.Sampled", {',
      ...[...LITERALS, ...samples].map((source, i) => `m${i}: rpc({ input: ${source}, output: ${source} }),`),
      "});",
    ].join("\n"),
  );
  const { files, diagnostics } = await generate({ files: [occupied, sampled], importExtension: "js" });
  expect(diagnostics).toEqual([]);
  writeChecked(files);
  const { isolatedDeclarations: _, ...options } = { ...STRICT, ...RESOLUTIONS.nodenext, declaration: false };
  workspace.write("any.json", JSON.stringify({ compilerOptions: options, files: files.map(({ path }) => path) }));
  expect(await complaints("typescript", "-p", "any.json")).toEqual([]);
});

/** Errors that a compiler reports of generated files. */
async function complaints(compiler: string, ...options: readonly string[]): Promise<string[]> {
  const tsc = fileURLToPath(new URL(`../../../node_modules/${compiler}/bin/tsc`, import.meta.url));
  const child = spawn(process.execPath, [tsc, ...options], { cwd: workspace.path });
  const [said, failed] = await Promise.all([text(child.stdout), text(child.stderr)]);
  // A schema's own types are inferred, which isolatedDeclarations does not allow: those complaints are not ours.
  return `${said}${failed}`
    .split("\n")
    .filter(
      (line) =>
        line !== "" && !/^\s|^(rich\.service|wide\.service|rooms\.service|shared)\.ts.*error TS90\d\d/.test(line),
    );
}
