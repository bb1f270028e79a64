// Codecs that do not explain: with a shape left out they must still take all that fits, and nothing else.
import { dirname } from "node:path";
import type { MessageCodec } from "@quicrpc/core/generated";
import { RpcError } from "@quicrpc/core";
import { build } from "esbuild";
import fc from "fast-check";
import { Packr } from "msgpackr";
import { afterAll, expect, test } from "vitest";
import { generate, writeGenerated } from "../../src/index.js";
import { createWorkspace } from "../workspace.js";
import { type CompiledSample, compileSamples, encode } from "./compile.js";
import { same } from "./same.js";
import { schemas } from "./schemas.js";
import { anything, nearly, numbers } from "./values.js";

const SEED = Number(process.env["QUICRPC_DIFFERENTIAL_SEED"] ?? 20_261);
const SCHEMAS = 150;
/** More of these than so many must be without shape, else little was compared. */
const LEAST_WITHOUT = 20;
const VALID_VALUES = 40;
const CHANGES_OF_EACH = 3;

const packr = new Packr({
  useRecords: false,
  variableMapSize: true,
  int64AsType: "auto",
  skipValues: [undefined],
} as object);
const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** Returns the value of `run`; undefined where it refuses. */
function outcome(run: () => unknown): { readonly value: unknown } | undefined {
  try {
    return { value: run() };
  } catch (error) {
    if (error instanceof RpcError && error.code === "invalid_argument") return undefined;
    throw error;
  }
}

function agree(full: CompiledSample, bare: CompiledSample, value: unknown, isValid: boolean): void {
  const sent = outcome(() => encode(full.codec, value));
  const sentBare = outcome(() => encode(bare.codec, value));
  if (!same(sentBare, sent)) expect(sentBare).toStrictEqual(sent);
  const bytes = sent?.value ?? outcome(() => new Uint8Array(packr.pack(value)))?.value;
  if (!(bytes instanceof Uint8Array)) return;
  const received = outcome(() => full.codec.decode(bytes, 0, bytes.length));
  const receivedBare = outcome(() => bare.codec.decode(bytes, 0, bytes.length));
  // Of bytes that no sender of the schema writes, it may take less.
  if (receivedBare === undefined && !(isValid && sent !== undefined)) return;
  if (!same(receivedBare, received)) expect(receivedBare).toStrictEqual(received);
}

test("codecs without explanations take and give what those with them do", { timeout: 120_000 }, async () => {
  const random = numbers(SEED);
  const hostile = fc.sample(anything, { numRuns: 100, seed: SEED });
  const samples = [1, 2].flatMap((depth) => fc.sample(schemas(depth), { numRuns: SCHEMAS / 2, seed: SEED }));
  const full = await compileSamples(workspace, "full.service.ts", samples);
  const bare = await compileSamples(workspace, "bare.service.ts", samples, false);
  let without = 0;
  for (const [i, sample] of full.entries()) {
    const its = bare[i];
    if (its === undefined) throw new Error(`nothing was made of ${sample.source}`);
    // What has no plain half has no shape.
    if (its.codec.plain === undefined) without++;
    const check = (value: unknown, isValid: boolean): void => {
      try {
        agree(sample, its, value, isValid);
      } catch (error) {
        throw new Error(`${sample.source}\n${fc.stringify(value)}`, { cause: error });
      }
    };
    for (const valid of fc.sample(sample.valid, { numRuns: VALID_VALUES, seed: SEED })) {
      check(valid, true);
      for (let n = 0; n < CHANGES_OF_EACH; n++) check(nearly(valid, hostile, random), false);
    }
    for (const value of hostile) check(value, false);
  }
  expect(without).toBeGreaterThan(LEAST_WITHOUT);
});

test("a bundle has no shapes, of messages that files share neither", async () => {
  const point = workspace.write(
    "bundled/point.ts",
    'import { z } from "zod";\nexport const Point = z.object({ x: z.number(), y: z.number().optional() });\n',
  );
  const services = ["One", "Two"].map((name) =>
    workspace.write(
      `bundled/${name}.service.ts`,
      `import { rpc, service, stream } from "@quicrpc/core";
import { Point } from "./point.js";
export const ${name} = service("test.v1.${name}", { move: rpc({ input: Point, output: stream(Point) }) });
`,
    ),
  );
  const { files, diagnostics } = await generate({
    files: services,
    importExtension: "ts",
    target: "client",
    explain: false,
  });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  const shared = files.find(({ path }) => path.endsWith("_shared.codecs.ts"));
  expect(shared?.text).toContain("wire.later(makePointShape)");
  const { metafile } = await build({
    stdin: {
      contents: 'export * from "./generated/One.js"; export * from "./generated/Two.js";',
      resolveDir: dirname(point),
    },
    bundle: true,
    format: "esm",
    write: false,
    metafile: true,
  });
  const bundled = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  expect(bundled.some((path) => path.endsWith("codec/bare.js"))).toBe(true);
  expect(bundled.filter((path) => /codec\/(object|scalars|check|codec|zod-schema)\.js$|\/zod\//.test(path))).toEqual(
    [],
  );
});

test("a message that is not compiled as a whole keeps its shape, where files share it too", async () => {
  workspace.write(
    "shared/tags.ts",
    `import { z } from "zod";
export const Tags = z.object({ of: z.record(z.string(), z.number()), get inner() { return Tags.optional(); } });
`,
  );
  const services = ["Three", "Four"].map((name) =>
    workspace.write(
      `shared/${name}.service.ts`,
      `import { rpc, service } from "@quicrpc/core";
import { Tags } from "./tags.ts";
export const ${name} = service("test.v1.${name}", { set: rpc({ input: Tags }), wrap: rpc({ input: Tags.nullable() }) });
`,
    ),
  );
  const { files, diagnostics } = await generate({ files: services, importExtension: "ts", explain: false });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  const path = files.find((file) => file.path.endsWith("Three.ts"))?.path ?? "";
  const { threeMethods } = (await import(/* @vite-ignore */ path)) as {
    threeMethods: Record<"set" | "wrap", { input: MessageCodec<unknown> }>;
  };
  for (const { input } of Object.values(threeMethods)) {
    const value = { of: { a: 1 }, inner: { of: {} } };
    const bytes = encode(input, value);
    expect(input.decode(bytes, 0, bytes.length)).toEqual(value);
    const wrong = outcomeOf(() => encode(input, { of: { a: 1 }, inner: { of: { b: "c" } } }));
    expect(wrong).toMatchObject({ code: "invalid_argument", details: [{ path: ["inner", "of", "b"] }] });
  }
});

function outcomeOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
