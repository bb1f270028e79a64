import type { AnyMethod } from "@quicrpc/core/generated";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { generate, writeGenerated } from "../src/index.js";
import { JsonSchemas } from "../src/tooling/json-schema.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const SCHEMA = `import { bytes, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";
const Tree = z.object({ name: z.string(), get children() { return z.array(Tree); } });
/** A shop. */
export const Shop = service("shop.v1.Shop", {
  /** Gets one. */
  get: rpc({
    input: z.object({ id: z.int().min(1), at: z.date().optional(), big: z.bigint(), raw: z.instanceof(Uint8Array) }),
    output: stream(z.object({ tags: z.set(z.string()), prices: z.map(z.string(), z.number()).describe("By currency.") })),
  }),
  tree: rpc({ input: Tree, output: z.string().transform(Number) }),
  save: rpc({ input: bytes() }),
});
`;

test("what tools are told is loaded when they ask, and is plain JSON", async () => {
  const schema = workspace.write("shop.service.ts", SCHEMA);
  const { files, snapshot } = await generate({ files: [schema], importExtension: "ts" });
  writeGenerated(files);
  const { shopMethods } = (await import(/* @vite-ignore */ files[0]?.path ?? "")) as {
    shopMethods: Record<string, AnyMethod>;
  };
  const tooling = await shopMethods["get"]?.service.tooling?.();
  expect(JSON.parse(JSON.stringify(tooling))).toEqual(tooling);
  expect(tooling?.docs).toBe("A shop.");
  expect(tooling?.snapshot).toEqual(snapshot.services["shop.v1.Shop"]);
  expect(tooling?.methods).toEqual({
    get: {
      docs: "Gets one.",
      input: {
        type: "object",
        properties: {
          id: { type: "integer", minimum: 1 },
          at: { type: "string", format: "date-time", "x-quicrpc-type": "date" },
          big: { type: "integer", "x-quicrpc-type": "bigint" },
          raw: { type: "string", contentEncoding: "base64", "x-quicrpc-type": "bytes" },
        },
        required: ["id", "big", "raw"],
      },
      output: {
        type: "object",
        properties: {
          tags: { type: "array", items: { type: "string" }, uniqueItems: true, "x-quicrpc-type": "set" },
          prices: {
            type: "array",
            items: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], minItems: 2, maxItems: 2 },
            description: "By currency.",
            "x-quicrpc-type": "map",
          },
        },
        required: ["tags", "prices"],
      },
    },
    tree: {
      input: {
        type: "object",
        properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } },
        required: ["name", "children"],
        title: "Tree",
      },
      output: { type: "string" },
    },
    save: {},
  });
});

test("a client alone has none of it", async () => {
  const schema = workspace.write("client/shop.service.ts", SCHEMA);
  const { files } = await generate({ files: [schema], target: "client" });
  expect(files.map(({ path }) => path.split("/").at(-1))).toEqual(["shop.ts", "shop.codecs.ts"]);
  expect(files[0]?.text).not.toContain("tooling");
});

test("examples of values that JSON lacks are as people write them", async () => {
  const schema = workspace.write(
    "examples/e.service.ts",
    `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const E = service("e.v1.E", {
  a: rpc({ input: z.bigint().meta({ examples: [1n] }), output: z.date().meta({ examples: [new Date(0)] }) }),
});
`,
  );
  const { files, diagnostics } = await generate({ files: [schema] });
  expect(diagnostics).toEqual([]);
  const text = files.find(({ path }) => path.endsWith("e.tooling.ts"))?.text;
  expect(text).toContain('examples: ["1"]');
  expect(text).toContain('examples: ["1970-01-01T00:00:00.000Z"]');
});

test("defaults and metadata: bigints in decimal, and none that a function makes", async () => {
  const schema = `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const Store = service("shop.v1.Store", {
  put: rpc({ input: z.object({
    id: z.string().default(() => crypto.randomUUID()),
    n: z.number().prefault(() => Math.random()),
    c: z.string().catch(() => crypto.randomUUID()),
    d: z.string().default("x"),
    big: z.object({ b: z.bigint() }).default({ b: 5n }),
    pre: z.object({ b: z.bigint() }).prefault({ b: 5n }),
    unit: z.string().meta({ unit: 5n }),
  }) }),
});
`;
  const file = workspace.write("defaults/store.service.ts", schema);
  const options = { files: [file], importExtension: "ts" } as const;
  const { files } = await generate(options);
  writeGenerated(files);
  expect((await generate(options)).files.filter(({ changed }) => changed)).toEqual([]);
  const tooling = (await import(/* @vite-ignore */ `${workspace.path}/defaults/generated/store.tooling.ts`)) as object;
  const text = JSON.stringify(tooling);
  expect(text.match(/"default":[^,}]*/g)).toEqual(['"default":"x"', '"default":{"b":"5"', '"default":{"b":"5"']);
  expect(text).toContain('"unit":"5"');
});

test("literals that are bigints, and the sizes of sets and maps", async () => {
  const schema = workspace.write(
    "sizes/sizes.service.ts",
    `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const Sizes = service("sizes.v1.Sizes", {
  a: rpc({ input: z.object({
    one: z.literal(9007199254740993n),
    some: z.literal([1n, 2n]),
    mixed: z.literal([1n, "a"]),
    set: z.set(z.int()).min(1).max(3),
    map: z.map(z.string(), z.int()).size(2),
  }) }),
});
`,
  );
  const { files } = await generate({ files: [schema], importExtension: "ts" });
  writeGenerated(files);
  const path = files.find((file) => file.path.endsWith("/sizes.ts"))?.path ?? "";
  const { sizesMethods } = (await import(/* @vite-ignore */ path)) as { sizesMethods: Record<string, AnyMethod> };
  const tooling = await sizesMethods["a"]?.service.tooling?.();
  const big = { "x-quicrpc-type": "bigint" };
  expect(tooling?.methods["a"]?.input?.["properties"]).toEqual({
    one: { ...big, const: "9007199254740993" },
    some: { ...big, enum: ["1", "2"] },
    mixed: { anyOf: [{ ...big, const: "1" }, { const: "a" }] },
    set: {
      type: "array",
      items: { type: "integer" },
      uniqueItems: true,
      minItems: 1,
      maxItems: 3,
      "x-quicrpc-type": "set",
    },
    map: expect.objectContaining({ "x-quicrpc-type": "map", minItems: 2, maxItems: 2 }),
  });
});

test("what maps and sets hold has its definitions: schemas with ids, and those that are inside themselves", async () => {
  const schema = workspace.write(
    "held.service.ts",
    `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
const Item = z.object({ at: z.date() }).meta({ id: "Item" });
const Tree = z.object({ get list() { return z.array(Tree); }, get kids() { return z.map(z.string(), Tree); } });
const Set = z.set(z.lazy(() => Set.or(z.string())));
export const Held = service("held.v1.Held", {
  items: rpc({ input: z.object({ map: z.map(z.string(), Item), set: z.set(Item), array: z.array(Item) }) }),
  tree: rpc({ input: Tree, output: z.object({ tree: Tree }) }),
  set: rpc({ input: z.object({ set: Set }), output: z.set(z.map(z.string(), z.date())) }),
});`,
  );
  const { files, diagnostics } = await generate({ files: [schema], importExtension: "ts" });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  const path = files.find((file) => file.path.endsWith("/held.ts"))?.path ?? "";
  const { heldMethods } = (await import(/* @vite-ignore */ path)) as { heldMethods: Record<string, AnyMethod> };
  const { items, tree, set } = (await heldMethods["items"]?.service.tooling?.())?.methods ?? {};
  const mapOf = (value: object): object => ({
    type: "array",
    items: { type: "array", prefixItems: [{ type: "string" }, value], minItems: 2, maxItems: 2 },
    "x-quicrpc-type": "map",
  });
  const setOf = (element: object): object => ({
    type: "array",
    items: element,
    "x-quicrpc-type": "set",
  });
  const item = { $ref: "#/$defs/Item" };
  expect(items?.input).toMatchObject({
    properties: { map: mapOf(item), set: setOf(item), array: { items: item } },
    $defs: { Item: { type: "object", properties: { at: { format: "date-time" } } } },
  });
  expect(tree?.input).toMatchObject({
    properties: { list: { items: { $ref: "#" } }, kids: mapOf({ $ref: "#" }) },
  });
  expect(tree?.input).not.toHaveProperty("$defs");
  const [name = ""] = Object.keys(tree?.output?.["$defs"] ?? {});
  const self = { $ref: `#/$defs/${name}` };
  expect(tree?.output).toMatchObject({
    properties: { tree: self },
    $defs: { [name]: { properties: { list: { items: self }, kids: mapOf(self) } } },
  });
  expect(set?.output).toEqual(setOf(mapOf({ type: "string", format: "date-time", "x-quicrpc-type": "date" })));
  expect(set?.input).toMatchObject({
    properties: { set: { $ref: "#/$defs/Set" } },
    $defs: { Set: setOf({ anyOf: [{ $ref: "#/$defs/Set" }, { type: "string" }] }) },
  });
});

test("names of definitions need no escapes in references", () => {
  const marked = z.object({ n: z.int() }).meta({ id: "50% of größe a/b~c #1" });
  expect(new JsonSchemas().of(z.object({ marked }))).toMatchObject({
    properties: { marked: { $ref: "#/$defs/50__of_größe_a_b_c__1" } },
    $defs: { "50__of_größe_a_b_c__1": { properties: { n: { type: "integer" } } } },
  });
});

test("metadata for protobuf is not in JSON Schemas", () => {
  const meta = { proto: { n: 1 }, protoReserved: [2, [5, 9]], unit: "m" };
  expect(new JsonSchemas().of(z.object({ n: z.int() }).meta(meta))).toEqual({
    type: "object",
    properties: { n: { type: "integer" } },
    required: ["n"],
    unit: "m",
  });
});
