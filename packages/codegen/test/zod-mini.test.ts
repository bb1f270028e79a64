import { rpc, service, stream } from "@quicrpc/core";
import { topic } from "@quicrpc/topics";
import { type MessageCodec, zodCodec } from "@quicrpc/core/generated";
import { afterAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { generate, writeGenerated } from "../src/index.js";
import { encode } from "./codec/compile.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

test("schemas of zod/mini are schemas of messages, for the type checker too", async () => {
  const Point = z.object({ x: z.int().check(z.minimum(0)), label: z.optional(z.string()) });
  const Mini = service("test.v1.Mini", {
    move: rpc({ input: Point, output: stream(z.array(Point)), errors: { FAR: z.object({ x: z.int() }) } }),
    points: topic("points", Point, { history: true }),
  });
  expect(Object.keys(Mini.methods)).toEqual(["move", "publishPoints", "subscribePoints"]);
  const interpreted: MessageCodec<{ x: number; label?: string | undefined }> = zodCodec(Point);

  const path = workspace.write(
    "mini.service.ts",
    `import { rpc, service } from "@quicrpc/core";
     import * as z from "zod/mini";
     const Point = z.object({ x: z.int().check(z.minimum(0)), label: z.optional(z.string()) });
     export const Mini = service("test.v1.Mini", { move: rpc({ input: Point }) });`,
  );
  const { files, diagnostics } = await generate({ files: [path], importExtension: "ts" });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  const { miniMethods } = (await import(/* @vite-ignore */ files[0]?.path ?? "")) as {
    miniMethods: { move: { input: MessageCodec<unknown> } };
  };
  for (const codec of [interpreted as MessageCodec<unknown>, miniMethods.move.input]) {
    const bytes = encode(codec, { x: 1 });
    expect(codec.decode(bytes, 0, bytes.length)).toEqual({ x: 1 });
    expect(() => encode(codec, { x: -1 })).toThrow("x");
  }
});
