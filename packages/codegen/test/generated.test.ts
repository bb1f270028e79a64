import type { AnyMethod } from "@quicrpc/core/generated";
import type { Router } from "@quicrpc/core";
import { spawnSync } from "node:child_process";
import { copyFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { generate, writeGenerated } from "../src/index.js";
import { createWorkspace, fixture, TSC, writeChecked } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

describe("generated code", () => {
  test("is as in the golden file", async () => {
    const { files, diagnostics } = await generate({ files: [fixture("rich.service.ts")], importExtension: "js" });
    expect(diagnostics).toEqual([]);
    expect(files).toHaveLength(3);
    expect(files[0]).toMatchObject({ schema: { services: 2, methods: 20 }, changed: true });
    await expect(files[0]?.text).toMatchFileSnapshot("golden/rich.ts.txt");
    await expect(files[1]?.text).toMatchFileSnapshot("golden/rich.codecs.ts.txt");
    await expect(files[2]?.text).toMatchFileSnapshot("golden/rich.tooling.ts.txt");
  });

  test("compiles under strict settings, with the types that zod infers", async () => {
    for (const name of ["rich.service.ts", "shared.ts", "rich.assert.ts"]) {
      copyFileSync(fixture(name), join(workspace.path, name));
    }
    const schema = join(workspace.path, "rich.service.ts");
    const { files } = await generate({ files: [schema], importExtension: "js" });
    writeChecked(files);
    workspace.write(
      "tsconfig.json",
      JSON.stringify({
        extends: "../../../../tsconfig.base.json",
        compilerOptions: {
          composite: false,
          declarationMap: false,
          sourceMap: false,
          types: [],
          outDir: "out",
          // A reader of an object goes from one field to the next as long as their keys come in order.
          noFallthroughCasesInSwitch: false,
        },
        files: ["generated/rich.ts", "rich.assert.ts"],
      }),
    );
    // A schema's own types are inferred, which isolatedDeclarations does not allow: those complaints are not ours.
    const ours = tsc("tsconfig.json")
      .split("\n")
      .filter((line) => line !== "" && !/^\s|^(rich\.service|shared)\.ts.*error TS90\d\d/.test(line));
    expect(ours).toEqual([]);
  });

  test("is not written again when nothing has changed", async () => {
    const schema = workspace.write("again/ping.service.ts", PING);
    const first = await generate({ files: [schema] });
    writeGenerated(first.files);
    const path = join(workspace.path, "again/generated/ping.ts");
    const { mtimeMs } = statSync(path);
    const second = await generate({ files: [schema] });
    expect(second.files.map((file) => file.changed)).toEqual([false, false]);
    writeGenerated(second.files);
    expect(statSync(path).mtimeMs).toBe(mtimeMs);
  });

  test("follows the schema when it is generated again in one process", async () => {
    const schema = workspace.write("fresh/ping.service.ts", PING);
    writeGenerated((await generate({ files: [schema] })).files);
    workspace.write("fresh/ping.service.ts", PING.replace("ping:", "pong:"));
    const { files } = await generate({ files: [schema] });
    expect(files[0]?.text).toContain("pong(input: undefined, context: CallContext<Context>): Awaitable<void>;");
  });

  test("imports the schema as the nearest tsconfig.json allows", async () => {
    // Only a schema that is needed when the code runs is imported.
    const schema = workspace.write(
      "extension/a.service.ts",
      `import { rpc, service } from "@quicrpc/core";
       import { z } from "zod";
       export const A = service("demo.v1.A", { a: rpc({ input: z.string().refine(() => true) }) });`,
    );
    workspace.write(
      "extension/base.json",
      JSON.stringify({ compilerOptions: { rewriteRelativeImportExtensions: true } }),
    );
    workspace.write("extension/tsconfig.json", JSON.stringify({ extends: "./base.json" }));
    const text = async (importExtension?: "ts" | "js" | "none"): Promise<string | undefined> =>
      (await generate({ files: [schema], ...(importExtension && { importExtension }) })).files[1]?.text;
    expect(await text()).toContain('from "../a.service.ts"');
    expect(await text("js")).toContain('from "../a.service.js"');
    expect(await text("none")).toContain('from "../a.service"');
    workspace.write("extension/tsconfig.json", "{}");
    expect(await text()).toContain('from "../a.service.js"');
  });

  test("follows re-exports and imports for comments", async () => {
    workspace.write(
      "split/types.ts",
      'import { z } from "zod";\n/** A place. */\nexport const Point = z.object({ x: z.number() });',
    );
    workspace.write(
      "split/geo.ts",
      [
        'import { rpc, service } from "@quicrpc/core";',
        'import { Point as P } from "./types.js";',
        "/** Where things are. */",
        'export const Geo = service("geo.v1.Geo", {',
        "  /** The middle. */",
        "  middle: rpc({ input: P, output: P.optional() }),",
        "});",
      ].join("\n"),
    );
    const schema = workspace.write("split/all.service.ts", 'export { Geo } from "./geo.js";');
    const { files, diagnostics } = await generate({ files: [schema] });
    expect(diagnostics).toEqual([]);
    expect(files[0]?.text).toContain("/** A place. */");
    expect(files[0]?.text).toContain(
      "* The middle.\n   *\n   * @see {@link Geo.methods.middle}\n   */\n  middle(input: P, options?: CallOptions): Promise<P | undefined>;",
    );
    expect(files[0]?.text).toContain("Where things are.");
  });

  test.each([
    ["client", ["PingClient", "createPingClient"], ["PingHandlers", "createPingRouter"]],
    ["server", ["PingHandlers", "createPingRouter"], ["PingClient", "createPingClient"]],
  ] as const)("for the %s has nothing of the other side", async (target, has, lacks) => {
    const schema = workspace.write("target/ping.service.ts", PING);
    const { files } = await generate({ files: [schema], target });
    for (const name of ["pingMethods", ...has]) expect(files[0]?.text).toContain(name);
    for (const name of lacks) expect(files[0]?.text).not.toContain(name);
    expect(files[0]?.text.includes("Router")).toBe(target === "server");
    expect(files[0]?.text.includes("CallOptions")).toBe(target === "client");
  });

  test("calls what it describes", async () => {
    const schema = workspace.write(
      "run/sum.service.ts",
      `import { rpc, service } from "@quicrpc/core";
       import { z } from "zod";
       export const Sum = service("demo.v1.Sum", {
         add: rpc({ input: z.object({ a: z.int(), b: z.int().default(1) }), output: z.int() }),
         reset: rpc(),
       });`,
    );
    const { files } = await generate({ files: [schema], importExtension: "ts" });
    writeGenerated(files);
    const generated = (await import(/* @vite-ignore */ files[0]?.path ?? "")) as {
      sumMethods: Record<
        string,
        { id: number; input?: { encode(value: unknown, out: Writer): void; decode(...args: unknown[]): unknown } }
      >;
      createSumClient(caller: unknown): Record<string, (...args: unknown[]) => unknown>;
      createSumRouter(handlers: object): { methods: readonly { method: { name: string } }[] };
    };
    const calls: unknown[][] = [];
    const client = generated.createSumClient({ start: (...args: unknown[]) => void calls.push(args) });
    client["add"]?.({ a: 1 }, { timeoutMs: 5 });
    client["reset"]?.({ timeoutMs: 6 });
    expect(calls.map(([, input, options]) => [input, options])).toEqual([
      [{ a: 1 }, { timeoutMs: 5 }],
      [undefined, { timeoutMs: 6 }],
    ]);
    expect(calls[0]?.[0]).toBe(generated.sumMethods["add"]);
    const out = new Writer();
    generated.sumMethods["add"]?.input?.encode({ a: 4 }, out);
    expect(generated.sumMethods["add"]?.input?.decode(out.buffer, 0, out.position)).toEqual({ a: 4, b: 1 });
    const router = generated.createSumRouter({ add: () => 0, reset: () => undefined });
    expect(router.methods.map(({ method }) => method.name)).toEqual(["add", "reset"]);
  });

  test("passes the streams of its calls on", async () => {
    const schema = workspace.write(
      "streams/talk.service.ts",
      `import { rpc, service, stream } from "@quicrpc/core";
       import { z } from "zod";
       const Item = z.object({ a: z.int().default(1) });
       export const Talk = service("demo.v1.Talk", {
         sum: rpc({ input: stream(Item), output: z.int() }),
         drop: rpc({ input: stream(Item) }),
         chat: rpc({ input: stream(Item), output: stream(z.string()) }),
       });`,
    );
    const { files } = await generate({ files: [schema], importExtension: "ts" });
    writeGenerated(files);
    const generated = (await import(/* @vite-ignore */ files[0]?.path ?? "")) as {
      talkMethods: Record<string, AnyMethod>;
      createTalkClient(caller: unknown): Record<string, (...args: unknown[]) => unknown>;
      createTalkRouter(handlers: object): Router;
    };
    const { talkMethods } = generated;
    const calls: unknown[][] = [];
    const start = (method: AnyMethod, ...args: unknown[]): unknown => {
      calls.push([method, ...args]);
      return method.kind;
    };
    const client = generated.createTalkClient({ start });
    const source = [{ a: 1 }];
    const options = { timeoutMs: 5 };
    expect(client["sum"]?.(source, options)).toBe("client_stream");
    expect(client["drop"]?.(source)).toBe("client_stream");
    expect(client["chat"]?.(options)).toBe("duplex");
    expect(calls).toEqual([
      [talkMethods["sum"], source, options],
      [talkMethods["drop"], source, undefined],
      [talkMethods["chat"], undefined, options],
    ]);
    // The codecs are those of one item.
    for (const method of Object.values(talkMethods)) {
      const out = new Writer();
      method.input?.encode({}, out);
      expect(method.input?.decode(out.buffer, 0, out.position)).toEqual({ a: 1 });
    }
    expect(Object.values(talkMethods).map(({ kind, output }) => [kind, output !== undefined])).toEqual([
      ["client_stream", true],
      ["client_stream", false],
      ["duplex", true],
    ]);
    const out = new Writer();
    talkMethods["chat"]?.output?.encode("hi", out);
    expect(talkMethods["chat"]?.output?.decode(out.buffer, 0, out.position)).toBe("hi");
    const router = generated.createTalkRouter({ sum: () => 0, drop: () => undefined, chat: () => [] });
    expect(router.methods.map(({ method }) => method.kind)).toEqual(["client_stream", "client_stream", "duplex"]);
  });

  test.each([
    ["output: stream(z.int())", "serverStreamCalls, ItemStream, StreamSource"],
    ["input: stream(z.int())", "clientStreamCalls, ItemStream, StreamSource"],
    ["input: stream(z.int()), output: stream(z.int())", "DuplexStream, ItemStream, StreamSource"],
    ["input: z.int(), output: z.int()", ""],
  ])("imports for { %s } what it uses", async (payloads, streamTypes) => {
    const schema = workspace.write(
      "imports/one.service.ts",
      `import { rpc, service, stream } from "@quicrpc/core";
       import { z } from "zod";
       export const One = service("demo.v1.One", { one: rpc({ ${payloads} }) });`,
    );
    const { files } = await generate({ files: [schema] });
    const imports = /import \{([^}]*)\} from "@quicrpc\/core\/generated"/.exec(files[0]?.text ?? "")?.[1] ?? "";
    expect(imports.match(/\w*Stream\w*/g)?.join(", ") ?? "").toBe(streamTypes);
  });

  test("imports nothing that is only spoken of", async () => {
    const schema = workspace.write(
      "spoken/one.service.ts",
      `import { rpc, service } from "@quicrpc/core";
       import { z } from "zod";
       /** A Router, an ItemStream, over the wire. */
       export const One = service("demo.v1.One", { one: rpc({ output: z.object({
         /** A Caller. */
         Caller: z.enum(["createRouter", "DuplexStream"]).optional(),
         "Stream.Source": z.literal("StreamSource"),
       }) }) });`,
    );
    const { files } = await generate({ files: [schema], target: "client" });
    const imported = /import \{([^}]*)\} from "@quicrpc\/core\/generated";/.exec(files[0]?.text ?? "")?.[1] ?? "";
    expect(
      imported
        .match(/[\w ]+/g)
        ?.map((name) => name.trim())
        .filter((name) => name !== ""),
    ).toEqual(["describeMethod", "unaryCalls", "type CallOptions", "type Caller", "type MethodDescriptor"]);
    expect(files[1]?.text).toContain('\nimport type { MessageCodec } from "@quicrpc/core/generated";\n');
  });
});

const PING = `import { rpc, service } from "@quicrpc/core";
export const Ping = service("demo.v1.Ping", { ping: rpc() });
`;

class Writer {
  buffer: Uint8Array = new Uint8Array(256);
  position = 0;
  reserve(): void {}
}

/** Output of the compiler, or why it could not run. */
function tsc(project: string): string {
  const { stdout, stderr, error } = spawnSync(process.execPath, [TSC, "-p", project], {
    cwd: workspace.path,
    encoding: "utf8",
  });
  return `${error?.message ?? ""}${stdout}${stderr}`;
}
