import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useProject } from "./project.js";

const { cwd, quicrpc, start, write } = useProject();

const schema = (method: string): string => `import { rpc, service } from "@quicrpc/core";
import { Text } from "./text.js";
export const Ping = service("demo.v1.Ping", { ${method}: rpc({ input: Text }) });
`;
const text = (type: string): string => `import { z } from "zod";\nexport const Text = ${type};\n`;
const generated = (): string => readFileSync(join(cwd, "src/generated/ping.ts"), "utf8");

test("--watch follows schemas and what they import, and keeps the last good output", async () => {
  write("src/ping.service.ts", schema("ping"));
  write("src/text.ts", text("z.string()"));
  const watch = start(["gen", "--watch"]);
  await watch.says("watching . for changes");
  expect(generated()).toContain("ping(input: string");

  write("src/text.ts", text("z.int()"));
  await watch.says("wrote src/generated/ping.ts");
  expect(generated()).toContain("ping(input: number");

  write("src/text.ts", text("z.symbol()"));
  await watch.says("error unsupported-type");
  expect(generated()).toContain("ping(input: number");

  write("src/text.ts", text('z.object({ get a(): z.ZodString { throw new Error("later"); } })'));
  await watch.says("error schema-fails");

  write("src/text.ts", text("z.boolean()"));
  await watch.says("wrote src/generated/ping.ts");
  expect(generated()).toContain("ping(input: boolean");

  write("other/pong.service.ts", schema("pong").replaceAll("Ping", "Pong").replace("./text.js", "../src/text.js"));
  await watch.says("wrote other/generated/pong.ts");
  expect(await watch.stop()).toBe(0);
});

test("--watch follows what schemas import from outside of the project", async () => {
  write("app/package.json", "{}");
  write("app/ping.service.ts", schema("ping").replace("./text.js", "../common/text.js"));
  write("common/text.ts", text("z.string()"));
  const watch = start(["gen", "--watch"], {}, "app");
  await watch.says("watching . for changes");
  write("common/text.ts", text("z.int()"));
  await watch.says("wrote generated/ping.ts");
  expect(await watch.stop()).toBe(0);
});

test("output that no schema stands for any more is removed, and nothing else", () => {
  write("text.ts", text("z.string()"));
  write("ping.service.ts", schema("ping"));
  write("pong.service.ts", schema("pong").replaceAll("Ping", "Pong"));
  quicrpc(["gen"]);
  write("generated/mine.ts", "export {};");
  rmSync(join(cwd, "pong.service.ts"));
  expect(quicrpc(["gen", "ping.service.ts"]).stdout).not.toContain("pong");
  const check = quicrpc(["gen", "--check"]);
  expect(check.code).toBe(1);
  expect(check.stdout).toContain("stale generated/pong.ts");
  expect(existsSync(join(cwd, "generated/pong.ts"))).toBe(true);
  expect(quicrpc(["gen"]).stdout).toContain("removed generated/pong.ts");
  expect(existsSync(join(cwd, "generated/pong.ts"))).toBe(false);
  expect(existsSync(join(cwd, "generated/mine.ts"))).toBe(true);
  expect(quicrpc(["gen", "--check"]).code).toBe(0);
});
