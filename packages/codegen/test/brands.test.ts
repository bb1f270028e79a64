// Brands, which zod keeps in the types of schemas only, are in generated types.
import { spawnSync } from "node:child_process";
import { afterAll, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { createWorkspace, TSC, writeChecked } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const OPTIONS = {
  target: "es2022",
  lib: ["es2023"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  module: "nodenext",
  moduleResolution: "nodenext",
  skipLibCheck: true,
  noEmit: true,
};

/** Schemas by the names of the methods that take and give them. */
const SCHEMAS = {
  whole: "OrderId",
  other: "UserId",
  plain: "Id",
  fields: "z.object({ order: OrderId, user: UserId, plain: Id, described: OrderId.describe('An order.') })",
  checked: 'z.object({ id: z.string().min(1).brand<"Checked">().max(9) })',
  byValue: 'z.object({ id: z.string().brand("ByValue") })',
  several: 'z.object({ id: z.string().brand<"A">().brand<"B">(), either: z.string().brand<"C" | "D">() })',
  sides: 'z.object({ in: z.string().brand<"In", "in">(), both: z.string().brand<"Both", "inout">() })',
  absent:
    "z.object({ a: OrderId.optional(), b: OrderId.nullable(), c: OrderId.nullish(), d: OrderId.exactOptional() })",
  lists: "z.object({ list: z.array(OrderId), set: z.set(OrderId), pair: z.tuple([OrderId, UserId], Id) })",
  tables: "z.object({ record: z.record(OrderId, UserId), map: z.map(OrderId, UserId) })",
  choices: "z.object({ either: z.union([OrderId, z.int()]), both: z.intersection(Order, z.object({ more: UserId })) })",
  piped: "z.object({ id: z.string().pipe(OrderId), late: z.lazy(() => OrderId) })",
  objects: "z.object({ order: Order, branded: BrandedOrder })",
  derived: "Order.extend({ more: UserId })",
  picked: "Order.pick({ id: true })",
  partial: "Order.partial()",
  required: "Order.partial().required()",
  fieldOf: "z.object({ id: Order.shape.id })",
  counted: 'z.object({ n: z.int().brand<"Count">(), at: z.date().brand<"At">(), big: z.bigint().brand<"Big">() })',
};

test("generated types have the brands that zod infers, each where it is", { timeout: 120_000 }, async () => {
  const methods = Object.entries(SCHEMAS).map(
    ([name, schema]) => `  ${name}: rpc({ input: ${schema}, output: ${schema} }),`,
  );
  const file = workspace.write(
    "brands.service.ts",
    `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
const Id = z.string();
export const OrderId = Id.brand<"OrderId">();
const UserId = Id.brand<"UserId">();
const Order = z.object({ id: OrderId, user: UserId, next: UserId.optional() });
const BrandedOrder = Order.brand<"Order">();
export const S = service("test.v1.S", {
${methods.join("\n")}
  watch: rpc({ input: OrderId, errors: { GONE: { code: "not_found", details: UserId } } }),
});
`,
  );
  const { files, diagnostics } = await generate({ files: [file], importExtension: "js" });
  expect(diagnostics).toEqual([]);
  writeChecked(files);
  const asserted = workspace.write(
    "brands.assert.ts",
    `import type { z } from "zod";
import { S, OrderId } from "./brands.service.js";
import type { SClient, SHandlers } from "./generated/brands.js";
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : Both<A, B>;
type Both<A, B> = [A] extends [B] ? ([B] extends [A] ? true : "narrower") : "wider";
type Schema<Name extends keyof typeof S.methods> = (typeof S.methods)[Name]["input"];
declare const client: SClient;
declare const plain: string;
declare const user: z.output<(typeof S.methods)["other"]["output"]>;
${Object.keys(SCHEMAS)
  .map(
    (name) => `export const ${name}Sent: Same<Parameters<SClient["${name}"]>[0], z.input<Schema<"${name}">>> = true;
export const ${name}Received: Same<Parameters<SHandlers["${name}"]>[0], z.output<Schema<"${name}">>> = true;
export const ${name}Result: Same<Awaited<ReturnType<SClient["${name}"]>>, z.output<Schema<"${name}">>> = true;`,
  )
  .join("\n")}
export async function use(): Promise<void> {
  const order = await client.whole(plain);
  // @ts-expect-error -- an id of another service
  const mixed: typeof order = user;
  // @ts-expect-error -- the brand of what is sent
  await client.sides({ in: "", both: plain });
  void [OrderId, mixed];
}
`,
  );
  const inputs = [...files.map(({ path }) => path).filter((path) => path.endsWith(".ts")), asserted];
  workspace.write("tsconfig.json", JSON.stringify({ compilerOptions: OPTIONS, files: inputs }));
  const { stdout } = spawnSync(process.execPath, [TSC, "-p", workspace.path], { encoding: "utf8" });
  expect(stdout).toBe("");
});
