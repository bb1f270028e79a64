// How much work a run is: counted, since times differ between machines.
import type { ts as compiler } from "ts-morph";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { generate } from "../src/index.js";
import { ts } from "../src/source/compiler.js";
import { createWorkspace } from "./workspace.js";

vi.mock("../src/source/compiler.js", async (original) => {
  const { ts } = await original<{ readonly ts: typeof compiler }>();
  const { createSourceFile, createProgram, getParsedCommandLineOfConfigFile } = ts;
  const counted = { createSourceFile, createProgram, getParsedCommandLineOfConfigFile };
  const spies = Object.entries(counted).map(([name, run]) => [name, vi.fn<() => unknown>(run as () => unknown)]);
  return { ts: { ...ts, ...Object.fromEntries(spies) } };
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
