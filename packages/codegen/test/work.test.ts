// How much work a run is: counted, since times differ between machines.
import type { ts as compiler } from "ts-morph";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { generate } from "../src/index.js";
import type { FileModel } from "../src/model.js";
import { printTooling } from "../src/print/tooling.js";
import { ts } from "../src/source/compiler.js";
import * as keywords from "../src/tooling/keywords.js";
import { createWorkspace } from "./workspace.js";

vi.mock("../src/source/compiler.js", async (original) => {
  const { ts } = await original<{ readonly ts: typeof compiler }>();
  const { createSourceFile, createProgram, getParsedCommandLineOfConfigFile } = ts;
  const counted = { createSourceFile, createProgram, getParsedCommandLineOfConfigFile };
  const spies = Object.entries(counted).map(([name, run]) => [name, vi.fn<() => unknown>(run as () => unknown)]);
  return { ts: { ...ts, ...Object.fromEntries(spies) } };
});

vi.mock("../src/tooling/keywords.js", async (original) => {
  const real = await original<typeof keywords>();
  return { ...real, numberKeywords: vi.fn<typeof real.numberKeywords>(real.numberKeywords) };
});

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());
afterEach(() => void vi.clearAllMocks());

const schema = (name: string, imports = ""): string => `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
${imports}
export const ${name} = service("work.v1.${name}", { get: rpc({ input: z.object({ id: z.int() }), output: z.string() }) });
`;

/** Counts calls of the compiler. */
function countWork(): { parsed(): readonly string[]; programs(): number; configs(): number } {
  const [parse, program, config] = [ts.createSourceFile, ts.createProgram, ts.getParsedCommandLineOfConfigFile].map(
    (each) => vi.mocked(each as (...args: unknown[]) => unknown).mock,
  );
  return {
    parsed: () => (parse?.calls ?? []).map(([file]) => String(file)).sort(),
    programs: () => program?.calls.length ?? 0,
    configs: () => config?.calls.length ?? 0,
  };
}

test("each module is parsed once, and nothing else; no program is made for plain ones", async () => {
  const files = Array.from({ length: 5 }, (_, n) => workspace.write(`plain/s${n}.service.ts`, schema(`S${n}`)));
  const work = countWork();
  expect((await generate({ files })).diagnostics).toEqual([]);
  expect(work.parsed()).toEqual(files);
  expect(work.programs()).toBe(0);
  expect(work.configs()).toBeLessThanOrEqual(1);
});

test("a module with types of its own takes one program, and is parsed once, whoever imports it", async () => {
  const shared = workspace.write("typed/shared.ts", "export const limit: number = 3;\n");
  const files = ["A", "B"].map((name) =>
    workspace.write(`typed/${name}.service.ts`, schema(name, 'import { limit } from "./shared.js"; void limit;')),
  );
  const work = countWork();
  expect((await generate({ files })).diagnostics).toEqual([]);
  expect(work.parsed()).toEqual([...files, shared]);
  expect(work.programs()).toBe(3);
});

const DEPTH = 30;
const METHODS = 20;

test("the JSON Schemas of nested types are made once for all methods", async () => {
  const types = Array.from(
    { length: DEPTH },
    (_, n) => `const T${n} = z.object({ n: z.number()${n === 0 ? "" : `, inner: T${n - 1}.optional()`} });`,
  );
  const methods = Array.from(
    { length: METHODS },
    (_, n) => `m${n}: rpc({ input: z.object({ m${n}: T${DEPTH - 1} }) }),`,
  );
  const file = workspace.write(
    "chain.service.ts",
    `import { rpc, service } from "@quicrpc/core";
     import { z } from "zod";
     ${types.join("\n")}
     export const Chain = service("work.v1.Chain", { ${methods.join("\n")} });`,
  );
  expect((await generate({ files: [file] })).diagnostics).toEqual([]);
  expect(vi.mocked(keywords.numberKeywords).mock.calls.length).toBe(DEPTH);
});

/** Counts the characters in the tables that are filled while a description is printed whose value is nested this deep. */
function charactersKept(depth: number): number {
  let input: object = {};
  for (let n = 0; n < depth; n++) input = { type: "object", properties: { [`n${n}`]: { type: "number" }, input } };
  const model = {
    schemaFile: "",
    services: [{ name: "S", prefix: "S", methods: [{ name: "m", tooling: { input } }] }],
  };
  using set = vi.spyOn(Map.prototype, "set");
  printTooling(model as unknown as FileModel);
  return set.mock.calls.flat().reduce((kept: number, each) => kept + (typeof each === "string" ? each.length : 0), 0);
}

test("printing a description keeps its text once, not once for each level", () => {
  expect(charactersKept(200)).toBeLessThan(3 * charactersKept(100));
});
