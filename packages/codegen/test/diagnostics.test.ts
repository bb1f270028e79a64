import { afterAll, describe, expect, test } from "vitest";
import { relative } from "node:path";
import { generate } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const IMPORTS = `import { bytes, notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";
`;

/** The diagnostics of modules, one module per text, as text. */
async function diagnose(...texts: readonly string[]): Promise<string> {
  const files = texts.map((text, index) => workspace.write(`${index}/bad.service.ts`, text));
  const { diagnostics, files: made } = await generate({ files });
  expect(made).toEqual([]);
  return diagnostics
    .map(({ file, line, column, frame, ...rest }) => {
      const { code, service, method, path, message, help } = rest;
      const place = [file === undefined ? "" : relative(workspace.path, file), line, column].join(":");
      const text = `${place} [${code}] ${[service, method, path].filter((each) => each !== undefined).join(" ")}\n${message}\n${frame ?? ""}\nhelp: ${help ?? ""}`;
      return text.replaceAll(workspace.path, "").replace(/^help: $/m, "");
    })
    .join("\n\n");
}

/** The diagnostics of a service with these methods. */
function methods(text: string): Promise<string> {
  return diagnose(`${IMPORTS}export const Bad = service("test.v1.Bad", {\n${text}\n});\n`);
}

describe("modules", () => {
  test("file not found", async () => {
    const { diagnostics } = await generate({ files: ["nowhere.service.ts"], cwd: workspace.path });
    expect(diagnostics).toMatchObject([{ code: "file-not-found", file: `${workspace.path}/nowhere.service.ts` }]);
  });
  test("syntax error", async () => {
    expect(await diagnose(`${IMPORTS}export const Bad = service("test.v1.Bad" {});`)).toMatchSnapshot();
  });
  test("throws", async () => {
    expect(
      await diagnose(
        `${IMPORTS}export const a: string = "x";\nfail();\nfunction fail(): never {\n  throw new Error("no database");\n}\n`,
      ),
    ).toMatchSnapshot();
  });
  test.each(["with spaces", "in (brackets)", "ünïcödé ☃"])("throws in a folder %s", async (folder) => {
    const file = workspace.write(`${folder}/bad.service.ts`, 'export const a: string = "x";\nfail();\n');
    const { diagnostics } = await generate({ files: [file] });
    expect(diagnostics).toMatchObject([{ code: "load-failed", file, line: 2, column: 1 }]);
  });
  test("import that does not exist", async () => {
    expect(await diagnose(`import { x } from "./nowhere.js";\nexport const y = x;\n`)).toMatchSnapshot();
  });
  test.each([
    ["a misspelt schema", `${IMPORTS}export const x = z.object({ id: z.strng() });\n`],
    ["a misspelt import", `import { servce } from "@quicrpc/core";\nexport const Bad = servce("a.A", {});\n`],
    [
      "an import of a sibling package",
      `import { topic } from "@quicrpc/core";\nexport const prices = topic("prices");\n`,
    ],
    ["an import of another sibling package", `import { blob } from "@quicrpc/core";\nexport const file = blob();\n`],
    ["a name that is not imported", `export const Bad = service("a.A", {});\n`],
    ["a package that is not installed", `import { z } from "zodd/mini";\nexport const x = z.string();\n`],
    ["a path alias that leads nowhere", `import { z } from "#types/point.js";\nexport const x = z.string();\n`],
  ])("%s", async (_, text) => {
    expect(await diagnose(text)).toMatchSnapshot();
  });
  test("an alias in a tsconfig.json with a mistake", async () => {
    const file = workspace.write("mistake/a.service.ts", 'import { x } from "~/x.js";\nexport const y = x;\n');
    const config = workspace.write("mistake/tsconfig.json", '{\n  "compilerOptions": { "paths":\n}\n');
    const { diagnostics } = await generate({ files: [file] });
    expect(diagnostics).toMatchObject([{ code: "load-failed", file: config, line: 3, column: 1 }]);
  });
  test("tsconfig.json that cannot be read", async () => {
    const file = workspace.write(
      "config/a.service.ts",
      `${IMPORTS}export const Bad = service("a", { ping: rpc() });\n`,
    );
    const config = workspace.write("config/tsconfig.json", JSON.stringify({ extends: "./nowhere.json" }));
    const { diagnostics } = await generate({ files: [file] });
    expect(diagnostics).toMatchObject([{ code: "load-failed", file: config }]);
    expect(diagnostics[0]?.message).toContain("nowhere.json");
    expect(diagnostics[0]?.help).toContain("extends");
  });
  test("no service", async () => {
    expect(await diagnose(`${IMPORTS}export const a = z.string();\n`)).toMatchSnapshot();
  });
  test("no methods", async () => {
    expect(await diagnose(`${IMPORTS}export const Bad = service("test.v1.Bad", {});\n`)).toMatchSnapshot();
  });
  test("service name", async () => {
    expect(await diagnose(`${IMPORTS}export const Bad = service("test/v1 Bad", { ping: rpc() });\n`)).toMatchSnapshot();
  });
  test("two services of one name", async () => {
    const text = `${IMPORTS}export const Bad = service("test.v1.Bad", { ping: rpc() });\n`;
    expect(await diagnose(`${text}export const Bad2 = service("test.v1.Bad", { pong: rpc() });\n`)).toMatchSnapshot();
  });
  test("two services of one id", async () => {
    const files = [
      workspace.write(
        "c/bad.service.ts",
        `${IMPORTS}export const A = service("a", { ping: rpc() });\nexport const B = service("b", { ping: rpc() });\n`,
      ),
    ];
    const ids = {
      serviceId: () => 7,
      methodIds: (_: string, names: readonly string[]) => new Map(names.map((name) => [name, 1])),
    };
    const { diagnostics } = await generate({ files, ids });
    expect(diagnostics).toMatchObject([{ code: "service-id-clash", service: "b", line: 4 }]);
  });
  test("two outputs of one name", async () => {
    const text = `${IMPORTS}export const Bad = service("test.v1.Bad", { ping: rpc() });\n`;
    const files = ["d/a.service.ts", "e/a.service.ts"].map((name) => workspace.write(name, text));
    const { diagnostics } = await generate({ files, out: workspace.path });
    expect(diagnostics).toMatchObject([{ code: "output-clash" }]);
  });
  test("problems of all files come together", async () => {
    const text = (name: string): string =>
      `${IMPORTS}export const Bad = service("test.v1.${name}", { ping: rpc({ input: z.symbol() }), pong: rpc({ output: z.promise(z.int()) }) });\n`;
    expect((await diagnose(text("A"), text("B"))).match(/\[unsupported-type\]/g)).toHaveLength(4);
  });
});

describe("methods", () => {
  test.each([
    ["duplicate method", "  ping: rpc(),\n  ping: notify(),"],
    ["method name", '  "get user": rpc(),'],
    ["reserved name", '  then: rpc(),\n  constructor: rpc(),\n  ["__proto__"]: rpc(),'],
    ["not a method", "  ping: z.string(),"],
    ["notify with output", "  ping: notify({ input: z.string(), output: z.string() } as never),"],
    ["notify with stream", "  ping: notify({ input: stream(z.string()) as never }),"],
    ["unknown delivery", '  ping: notify({ delivery: "pigeon" as never }),'],
    ["a stream that is once", "  ping: rpc({ output: stream(z.string()), once: true }),"],
    ["unknown way to travel", '  ping: rpc({ via: "train" as never }),'],
    ["a cursor that is no field", "  ping: rpc({ output: stream(z.object({ id: z.int() })), cursor: 7 as never }),"],
    [
      "a predecessor that items have not",
      '  ping: rpc({ output: stream(z.object({ id: z.int() })), cursor: { field: "id", predecessor: "before" } }),',
    ],
    [
      "a cursor with an option that it has not",
      '  ping: rpc({ output: stream(z.object({ id: z.int() })), cursor: { field: "id", predecesor: "id" } as never }),',
    ],
    ["a resumable call that does not stream", "  ping: rpc({ resumable: true }),"],
    ["a cursor without a stream", '  ping: rpc({ output: z.object({ id: z.int() }), cursor: "id" }),'],
    [
      "a cursor that some items lack",
      '  ping: rpc({ output: stream(z.union([z.object({ id: z.int() }), z.string()])), cursor: "id" }),',
    ],
    [
      "a cursor that may be left out",
      '  ping: rpc({ output: stream(z.object({ id: z.string().optional() })), cursor: "id" }),',
    ],
    ["delivery of a call", '  ping: rpc({ delivery: "datagram" } as object),'],
    [
      "unknown code of an error",
      '  ping: rpc({\n    errors: {\n      GONE: { code: "missing" as never },\n    },\n  }),',
    ],
    [
      "a misspelt property of an error",
      '  ping: rpc({\n    errors: {\n      GONE: z.object({ at: z.string() }),\n      FULL: { cod: "not_found" },\n    },\n  }),',
    ],
    ["an error that is a code alone", '  ping: rpc({ errors: { GONE: "not_found" as never } }),'],
    ["unknown option", "  ping: rpc({ inptu: z.object({ a: z.int() }) } as object),"],
  ])("%s", async (_, text) => {
    expect(await methods(text)).toMatchSnapshot();
  });
  test("an error with a property that it has not, in a constant", async () => {
    const errors = 'const errors = {\n  GONE: { code: "not_found", message: "gone" },\n};\n';
    const bad = 'export const Bad = service("test.v1.Bad", { ping: rpc({ errors: errors as object }) });\n';
    expect(await diagnose(`${IMPORTS}${errors}${bad}`)).toMatchSnapshot();
  });
});

describe("schemas", () => {
  test.each([
    ["plain object", "  ping: rpc({ input: { a: z.int() } as never }),"],
    ["other value", '  ping: rpc({ input: "string" as never, output: null as never }),'],
    ["zod 3", "  ping: rpc({ input: { _def: {}, safeParse() {} } as never }),"],
    ["function", "  ping: rpc({ input: z.object({ user: z.object({ call: z.function() }).optional() }) }),"],
    ["promise", "  ping: rpc({ output: z.promise(z.string()) }),"],
    ["symbol", "  ping: rpc({ output: z.array(z.symbol()) }),"],
    ["file", "  ping: rpc({\n    input: z.object({\n      list: z.record(z.string(), z.file()),\n    }),\n  }),"],
    [
      "class",
      "  ping: rpc({ input: z.object({ at: z.instanceof(Date), of: z.instanceof(URL), raw: z.instanceof(Buffer) }) }),",
    ],
    ["nested stream", "  ping: rpc({ output: z.object({ items: stream(z.int()) as never }) }),"],
    ["nested bytes", "  ping: rpc({ output: z.object({ items: z.array(bytes() as never) }) }),"],
    ["item of a streamed input", "  ping: rpc({ input: stream(z.object({ at: z.file() })) }),"],
    [
      "details of an error",
      "  ping: rpc({\n    errors: {\n      GONE: z.object({ at: z.symbol() }),\n      FULL: { details: z.file() },\n    },\n  }),",
    ],
    [
      "items of both",
      "  ping: rpc({\n    input: stream(z.symbol()),\n    output: stream(z.object({ list: z.file() })),\n  }),",
    ],
    ["stream of a stream", "  ping: rpc({ output: stream(stream(z.int()) as never) }),"],
  ])("%s", async (_, text) => {
    expect(await methods(text)).toMatchSnapshot();
  });

  test.each([
    "z.union([z.instanceof(Float64Array), z.instanceof(Uint8Array)])",
    "z.union([z.instanceof(Float64Array).nullable(), z.instanceof(Int8Array).refine(() => true)])",
    "z.union([z.object({ a: z.array(z.instanceof(Float64Array)) }), z.object({ a: z.array(z.instanceof(Int8Array)) })])",
    "z.xor([z.tuple([z.int(), z.instanceof(Float64Array)]), z.tuple([z.int()], z.instanceof(Int8Array))])",
    "z.union([z.object({ k: z.coerce.number(), a: z.instanceof(Float64Array) }), z.object({ k: z.string(), a: z.instanceof(Uint8Array) })])",
    'z.union([z.object({ k: z.string(), a: z.instanceof(Float64Array) }), z.object({ k: z.coerce.boolean().describe("K."), a: z.instanceof(Uint8Array) })])',
  ])("bytes of two classes in a union: %s", async (schema) => {
    expect(await methods(`  ping: rpc({ input: z.object({ a: ${schema} }) }),`)).toMatch(
      /\[unsupported-type\] test.v1.Bad ping input.a\nThis union has Float64Array and U?[iI]nt8Array in the same place/,
    );
  });

  test.each([
    ['k: z.literal("a")', 'k: z.literal("b")'],
    ["k: z.string()", "k: z.null()"],
    ["k: z.enum(['a']).readonly()", "k: z.int()"],
    ['k: z.string().describe("K.").refine(() => true)', 'k: z.int().describe("K.")'],
  ])("bytes of two classes that a field tells apart: %s, %s", async (one, other) => {
    const option = (k: string, of: string): string => `z.object({ ${k}, a: z.instanceof(${of}) })`;
    const schema = `z.union([${option(one, "Float64Array")}, ${option(other, "Uint8Array")}])`;
    const text = `${IMPORTS}export const Good = service("test.v1.Good", { ping: rpc({ input: ${schema} }) });\n`;
    const file = workspace.write("views/good.service.ts", text);
    expect((await generate({ files: [file] })).diagnostics).toEqual([]);
  });

  test("in a constant, shown where it is written", async () => {
    const text = `${IMPORTS}const User = z.object({\n  avatar: z.file(),\n});\nexport const Bad = service("test.v1.Bad", { ping: rpc({ input: z.array(User) }) });\n`;
    expect(await diagnose(text)).toMatchSnapshot();
  });
});

describe("blobs", () => {
  const blobs = (text: string): Promise<string> =>
    diagnose(
      `import { blob } from "@quicrpc/blobs";\n${IMPORTS}export const Bad = service("test.v1.Bad", {\n${text}\n});\n`,
    );
  test.each([
    ["in a list", "put: rpc({ input: z.object({ files: z.array(blob()) }) })", "the object that is the whole message"],
    ["as a whole", "put: rpc({ input: blob() })", "the object that is the whole message"],
    ["that may be null", "put: rpc({ input: z.object({ file: blob().nullable() }) })", "may be left out"],
    ["in a stream", "put: rpc({ input: stream(z.object({ file: blob() })) })", "one message each way"],
    ["in a notification", "put: notify({ input: z.object({ file: blob() }) })", "one message each way"],
    ["in a call that takes effect once", "put: rpc({ input: z.object({ file: blob() }), once: true })", "no blobs"],
  ])("%s", async (_, text, message) => {
    const told = await blobs(text);
    expect(told).toContain("[invalid-blob] test.v1.Bad put");
    expect(told).toContain(message);
  });
});

describe("schemas that fail", () => {
  const declarations = `const node = (): any => z.object({ get kids() { return z.array(node()); } });
const L: z.ZodType = z.lazy(() => L.optional());
`;
  test.each([
    ["one that makes itself anew", "z.object({ kids: z.array(node()) })", "never ends"],
    ["one that is nothing but itself", "L", "never ends"],
    ["a getter that throws", 'z.object({ get a(): z.ZodString { throw new Error("later"); } })', "later"],
    ["a default of undefined", "z.object({ a: z.string().optional().default(undefined) })", "default of undefined"],
  ])("%s is reported at its method", async (_, schema, message) => {
    const text = `${IMPORTS}${declarations}export const Bad = service("test.v1.Bad", {\n  ping: rpc({ input: ${schema} }),\n});\n`;
    const file = workspace.write(`failing/${message.replaceAll(" ", "-")}/bad.service.ts`, text);
    const { diagnostics, files } = await generate({ files: [file] });
    expect(files).toEqual([]);
    expect(diagnostics).toMatchObject([{ file, line: 6, service: "test.v1.Bad", method: "ping" }]);
    expect(diagnostics[0]?.message).toContain(message);
    expect(diagnostics[0]?.help).toBeTruthy();
  });
});

test.each([
  "z.string().refine(async () => true)",
  "z.string().superRefine(async () => {})",
  "z.string().check(async () => {})",
  "z.string().overwrite(async (text) => text as never)",
  "z.string().transform(async (text) => text)",
  "z.preprocess(async (value) => value, z.string())",
  "z.codec(z.string(), z.int(), { decode: async () => 1, encode: async () => '' })",
  "z.codec(z.string(), z.int(), { decode: () => 1, encode: async () => '' })",
  "z.string().catch((async () => '') as never)",
  "z.custom<string>(async () => true)",
  "z.lazy(() => z.string().refine(async () => true))",
  "z.string().refine(async () => true).optional().readonly().describe('x')",
  "z.string().refine(async () => true).meta({ title: 'A' })",
])("an asynchronous function is refused where it is written: %s", async (schema) => {
  const sync = "z.string().refine(() => true).superRefine(() => {}).transform((text) => text)";
  const text = `${IMPORTS}export const Bad = service("test.v1.Bad", {\n  a: rpc({ input: ${sync} }),\n  b: rpc({\n    output: z.object({\n      a: z.int(),\n      b: ${schema},\n    }),\n  }),\n});\n`;
  const file = workspace.write("asynchronous/bad.service.ts", text);
  const { diagnostics } = await generate({ files: [file] });
  expect(diagnostics).toMatchObject([{ code: "unsupported-type", file, line: 8, method: "b", path: "output.b" }]);
  expect(diagnostics[0]?.message).toContain("asynchronous");
});

test.each([
  ["two schemas of one id", 'z.object({ a: z.string().meta({ id: "Id" }), b: z.int().meta({ id: "Id" }) })'],
  ["a frozen schema", "Object.freeze(z.object({ a: z.int() }))"],
])("%s can be generated", async (name, schema) => {
  const text = `${IMPORTS}export const Good = service("test.v1.Good", {\n  ping: rpc({ input: ${schema} }),\n});\n`;
  const file = workspace.write(`good/${name.replaceAll(" ", "-")}/good.service.ts`, text);
  expect((await generate({ files: [file] })).diagnostics).toEqual([]);
});
