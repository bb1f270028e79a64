import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { useProject } from "./project.js";

const { cwd, quicrpc, write } = useProject();

const GOOD = `import { rpc, service } from "@quicrpc/core";
export const Ping = service("demo.v1.Ping", { ping: rpc() });
`;
const BAD = `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const Ping = service("demo.v1.Ping", { ping: rpc({ input: z.symbol() }) });
`;

describe("usage", () => {
  test("help shows the commands and how to use them", () => {
    const help = quicrpc(["--help"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toContain("gen [options] [files...]");
    const gen = quicrpc(["gen", "--help"]);
    expect(gen).toMatchObject({ code: 0, stderr: "" });
    expect(gen.stdout).toContain("$ quicrpc gen src/arith.service.ts --out src/generated");
    for (const option of ["--out", "--import-extension", "--check", "--json"]) expect(gen.stdout).toContain(option);
  });

  test("version", () => {
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    expect(quicrpc(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  test("no compiler is loaded to say what the commands are", () => {
    write(
      "loaded.mjs",
      `import { createRequire } from "node:module";
const { cache } = createRequire(import.meta.url);
process.on("exit", () => console.error(Object.keys(cache).filter((path) => path.includes("ts-morph")).length));`,
    );
    const loads = { NODE_OPTIONS: `--import=${pathToFileURL(join(cwd, "loaded.mjs")).href}` };
    expect(quicrpc(["--version"], loads).stderr).toBe("0\n");
    write("src/ping.service.ts", GOOD);
    expect(quicrpc(["gen"], loads).stderr).not.toBe("0\n");
  });

  test("wrong usage exits with 2 and says what was meant", () => {
    const option = quicrpc(["gen", "--ouf", "x"]);
    expect(option.code).toBe(2);
    expect(option.stderr).toContain("unknown option '--ouf'\n(Did you mean --out?)");
    const command = quicrpc(["gne"]);
    expect(command.code).toBe(2);
    expect(command.stderr).toContain("unknown command 'gne'\n(Did you mean gen?)");
    expect(quicrpc(["gen", "--import-extension", "mjs"]).code).toBe(2);
    expect(quicrpc([]).code).toBe(2);
  });
});

describe("schema modules that do more than declare", () => {
  test("a timer that they leave running ends with the command", () => {
    write("src/ping.service.ts", `${GOOD}setInterval(() => {}, 1000);\n`);
    expect(quicrpc(["gen"])).toMatchObject({ code: 0, stderr: "" });
    expect(quicrpc(["gen", "--check"])).toMatchObject({ code: 0, stderr: "" });
    expect(quicrpc(["breaking", "--against", "quicrpc.schema.json"])).toMatchObject({ code: 0, stderr: "" });
  });

  test("an await that does not settle is reported at its line", () => {
    write("src/ping.service.ts", `${GOOD}await new Promise(() => {});\n`);
    const { code, stderr } = quicrpc(["gen"]);
    expect(code).toBe(1);
    expect(stderr).toContain("src/ping.service.ts:3:1");
    expect(stderr).toContain("does not settle");
  });

  test("a file in the place of the folder for generated files is named", () => {
    write("src/ping.service.ts", GOOD);
    write("src/generated", "");
    const { code, stderr } = quicrpc(["gen"]);
    expect(code).toBe(1);
    expect(stderr).toContain("src/generated");
    expect(stderr).toContain("Cannot write");
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test("a file of another package is generated without running the schemas of this one", () => {
    write("src/ping.service.ts", `console.log("was run");\nprocess.exit(7);\n`);
    write("other/package.json", "{}");
    write("other/pong.service.ts", GOOD.replaceAll("Ping", "Pong"));
    expect(quicrpc(["gen", join(cwd, "other/pong.service.ts")])).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(join(cwd, "other/generated/pong.ts"))).toBe(true);
  });
});

describe("--json", () => {
  const errorOf = (args: readonly string[]): unknown => {
    const { code, stdout, stderr } = quicrpc([...args, "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    return JSON.parse(stderr);
  };

  test.each([
    [["gen", "--chekc"], "unknown option '--chekc'", "Did you mean --check?"],
    [["gne"], "unknown command 'gne'", "Did you mean gen?"],
    [["call"], "missing required argument 'url'", "add --help for usage"],
    [["breaking"], "required option '-a, --against <version>' not specified", "add --help for usage"],
    [["cert", "shwo"], "unknown command 'shwo'", "Did you mean show?"],
    [
      ["ls", "quic://a", "--hash", "1"],
      "option '--hash <sha-256>' argument '1' is invalid. It takes 64 hex digits.",
      "",
    ],
    [["rename", "a"], "missing required argument 'to'", ""],
    [["init", "-t", "vue"], "option '-t, --template <name>' argument 'vue' is invalid. Allowed choices are node, ", ""],
    [["dev", "--network", "5g"], '--network: unknown word "5g" in the description of a network', ""],
  ])("wrong usage is one error: %j", (args, message, hint) => {
    const { error } = errorOf(args) as { readonly error: { readonly message: string; readonly hint: string } };
    expect(error.message.startsWith(message)).toBe(true);
    expect(error.hint).toBe(hint === "" ? "add --help for usage" : hint);
  });

  test("what is behind -- is another command's", () => {
    expect(quicrpc(["gne", "--", "--json"]).stderr).toContain("error: unknown command 'gne'");
  });

  test("what cannot be done is JSON, by every command that has it", () => {
    write("ping.service.ts", BAD);
    const mock = quicrpc(["mock", "--json"]);
    expect(mock).toMatchObject({ code: 1, stderr: "" });
    expect(JSON.parse(mock.stdout)).toMatchObject({ diagnostics: [{ code: "unsupported-type", line: 3 }] });
    expect(JSON.parse(quicrpc(["rename", "a.v1.A", "a.v1.B", "--json"]).stdout)).toMatchObject({
      from: "a.v1.A",
      to: "a.v1.B",
      diagnostics: [{ code: "rename", message: "There is no lock file yet: run quicrpc gen." }],
    });
    write("ping.service.ts", GOOD);
    quicrpc(["gen"]);
    const renamed = quicrpc(["rename", "demo.v1.Ping", "demo.v1.Pong", "--json"]);
    expect(renamed).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(renamed.stdout)).toEqual({
      from: "demo.v1.Ping",
      to: "demo.v1.Pong",
      lock: "quicrpc.lock.json",
      diagnostics: [],
    });
    write("package.json", "{");
    const init = quicrpc(["init", "--no-install", "--json"]);
    expect(init).toMatchObject({ code: 1, stdout: "" });
    expect(JSON.parse(init.stderr)).toMatchObject({ error: { message: expect.stringContaining("is not valid JSON") } });
  });
});

describe("gen", () => {
  test("writes, then leaves alone what has not changed", () => {
    write("src/ping.service.ts", GOOD);
    expect(quicrpc(["gen"])).toEqual({
      code: 0,
      stdout:
        "wrote src/generated/ping.ts (1 service, 1 method)\nwrote src/generated/ping.tooling.ts\nwrote quicrpc.lock.json\nwrote quicrpc.schema.json\nin 0 ms\n",
      stderr: "",
    });
    expect(quicrpc(["gen", "src/*.service.ts"]).stdout).toBe(
      "unchanged src/generated/ping.ts (1 service, 1 method)\nunchanged src/generated/ping.tooling.ts\nunchanged quicrpc.lock.json\nunchanged quicrpc.schema.json\nin 0 ms\n",
    );
    expect(quicrpc(["gen", "src/ping.service.ts", "--out", "out"]).stdout).toContain("wrote out/ping.ts");
  });

  test("looks into neither node_modules nor dist", () => {
    write("a/node_modules/b/ping.service.ts", BAD);
    write("dist/ping.service.ts", BAD);
    write("ping.service.ts", GOOD);
    expect(quicrpc(["gen"])).toMatchObject({ code: 0 });
  });

  test("a mistake exits with 1, shows the place and leaves earlier output untouched", () => {
    write("ping.service.ts", GOOD);
    quicrpc(["gen"]);
    const before = readFileSync(join(cwd, "generated/ping.ts"), "utf8");
    write("ping.service.ts", BAD);
    const run = quicrpc(["gen"]);
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toMatchInlineSnapshot(`
      "ping.service.ts:3:66 - error unsupported-type in demo.v1.Ping/ping input
        z.symbol() is a symbol, which has no form on the wire.
          3 | export const Ping = service("demo.v1.Ping", { ping: rpc({ input: z.symbol() }) });
            |                                                                  ^^^^^^^^^^
        help: Symbols cannot be sent. Use z.literal or z.enum.

      1 problem; nothing was written.
      "
    `);
    expect(readFileSync(join(cwd, "generated/ping.ts"), "utf8")).toBe(before);
  });

  test("a glob or a path without a file exits with 1", () => {
    const glob = quicrpc(["gen", "nothing/*.ts"]);
    expect(glob.code).toBe(1);
    expect(glob.stderr).toContain("No file matches nothing/*.ts");
    const path = quicrpc(["gen", "nothing.service.ts"]);
    expect(path.code).toBe(1);
    expect(path.stderr).toContain("nothing.service.ts - error file-not-found");
  });

  test("--check writes nothing and fails on stale output", () => {
    write("ping.service.ts", GOOD);
    const stale = quicrpc(["gen", "--check"]);
    expect(stale).toMatchObject({
      code: 1,
      stdout:
        "stale generated/ping.ts (1 service, 1 method)\nstale generated/ping.tooling.ts\nstale quicrpc.lock.json\nstale quicrpc.schema.json\nin 0 ms\n",
    });
    expect(stale.stderr).toContain("run quicrpc gen");
    expect(existsSync(join(cwd, "generated"))).toBe(false);
    quicrpc(["gen"]);
    expect(quicrpc(["gen", "--check"]).code).toBe(0);
  });

  test("--json prints files and diagnostics", () => {
    write("ping.service.ts", GOOD);
    expect(JSON.parse(quicrpc(["gen", "--json"]).stdout)).toEqual({
      diagnostics: [],
      files: [
        { path: "generated/ping.ts", schema: "ping.service.ts", services: 1, methods: 1, status: "written" },
        { path: "generated/ping.tooling.ts", status: "written" },
        { path: "quicrpc.lock.json", status: "written" },
        { path: "quicrpc.schema.json", status: "written" },
      ],
    });
    write("ping.service.ts", BAD);
    const run = quicrpc(["gen", "--json"]);
    expect(run).toMatchObject({ code: 1, stderr: "" });
    expect(JSON.parse(run.stdout)).toMatchObject({
      diagnostics: [{ code: "unsupported-type", line: 3, service: "demo.v1.Ping", method: "ping", path: "input" }],
      files: [],
    });
  });

  test("ids stay in the lock when methods move, go and come", () => {
    const methods = (text: string): void => write("ping.service.ts", GOOD.replace("{ ping: rpc() }", `{ ${text} }`));
    const ids = (): Record<string, unknown> =>
      Object.fromEntries(
        [...readFileSync(join(cwd, "generated/ping.ts"), "utf8").matchAll(/"(\w+)", \{ id: (\d+)/g)].map(
          ([, name, id]) => [name, Number(id)],
        ),
      );
    methods("a: rpc(), b: rpc(), c: rpc()");
    quicrpc(["gen"]);
    expect(ids()).toEqual({ a: 1, b: 2, c: 3 });
    methods("d: rpc(), c: rpc(), a: rpc()");
    expect(quicrpc(["gen", "--check"]).code).toBe(1);
    quicrpc(["gen"]);
    expect(ids()).toEqual({ d: 4, c: 3, a: 1 });
    expect(readFileSync(join(cwd, "quicrpc.lock.json"), "utf8")).toMatchInlineSnapshot(`
      "{
        "version": 1,
        "methods": {
          "demo.v1.Ping/a": { "id": [11545, 1], "fingerprint": "3bf05b7a" },
          "demo.v1.Ping/b": { "id": [11545, 2], "fingerprint": "3bf05b7a", "removed": true },
          "demo.v1.Ping/c": { "id": [11545, 3], "fingerprint": "3bf05b7a" },
          "demo.v1.Ping/d": { "id": [11545, 4], "fingerprint": "3bf05b7a" }
        }
      }
      "
    `);
    methods("e: rpc(), c: rpc(), a: rpc(), b: rpc()");
    quicrpc(["gen"]);
    expect(ids()).toEqual({ e: 5, c: 3, a: 1, b: 2 });
  });

  test("a renamed method or service keeps its ids", () => {
    write("ping.service.ts", GOOD);
    quicrpc(["gen"]);
    expect(quicrpc(["rename", "demo.v1.Ping/ping", "demo.v1.Ping/knock"])).toMatchObject({ code: 0, stderr: "" });
    expect(quicrpc(["rename", "demo.v1.Ping", "demo.v1.Door"])).toMatchObject({ code: 0, stderr: "" });
    write("ping.service.ts", GOOD.replace("demo.v1.Ping", "demo.v1.Door").replace("ping:", "knock:"));
    const before = readFileSync(join(cwd, "quicrpc.lock.json"), "utf8");
    expect(before).toContain("demo.v1.Door/knock");
    quicrpc(["gen"]);
    expect(readFileSync(join(cwd, "quicrpc.lock.json"), "utf8")).toBe(before);
    const run = quicrpc(["rename", "demo.v1.Ping/pong", "demo.v1.Ping/x"]);
    expect(run.code).toBe(1);
    expect(run.stderr).toContain("demo.v1.Ping/pong is not in the lock.");
  });

  test("a merge conflict in the lock is explained", () => {
    write("ping.service.ts", GOOD);
    quicrpc(["gen"]);
    const lock = readFileSync(join(cwd, "quicrpc.lock.json"), "utf8");
    write("quicrpc.lock.json", lock.replace('    "demo', '<<<<<<< HEAD\n    "demo'));
    const run = quicrpc(["gen"]);
    expect(run.code).toBe(1);
    expect(run.stderr).toContain("quicrpc.lock.json:4:1 - error lock-conflict");
  });

  test("--no-lock keeps no ids", () => {
    write("ping.service.ts", GOOD);
    expect(quicrpc(["gen", "--no-lock"]).stdout).toBe(
      "wrote generated/ping.ts (1 service, 1 method)\nwrote generated/ping.tooling.ts\nin 0 ms\n",
    );
  });

  test("a configuration says what is generated, from any directory", () => {
    write("api/schemas/ping.service.ts", GOOD);
    write("other/bad.service.ts", BAD);
    write(
      "api/quicrpc.config.ts",
      'import { defineConfig } from "quicrpc";\nexport default defineConfig({ include: "schemas/*.ts", out: "out" });\n',
    );
    const run = quicrpc(["gen", "--config", "api/quicrpc.config.ts"]);
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toContain(
      "wrote api/out/ping.ts (1 service, 1 method)\nwrote api/out/ping.tooling.ts\nwrote api/quicrpc.lock.json\n",
    );
    write("api/quicrpc.config.ts", "export default { includes: 1 };\n");
    const wrong = quicrpc(["gen", "--config", "api/quicrpc.config.ts"]);
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain("api/quicrpc.config.ts:1 - error config\n  includes is not an option.");
    expect(wrong.stderr).toContain("help: Did you mean include? The options are include,");
    write("api/quicrpc.config.ts", "export default { proto: true };\n");
    const noPath = quicrpc(["gen", "--config", "api/quicrpc.config.ts"]);
    expect(noPath.stderr).toContain("proto is not a path.");
    expect(quicrpc(["gen", "--config", "nowhere.ts"]).stderr).toContain("nowhere.ts - error file-not-found");
  });

  test("colours only where they are wanted", () => {
    write("ping.service.ts", BAD);
    const colored = (env: NodeJS.ProcessEnv): boolean => quicrpc(["gen"], env).stderr.includes("\u001b[");
    expect(colored({})).toBe(false);
    expect(colored({ FORCE_COLOR: "1" })).toBe(true);
    expect(colored({ FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(false);
  });
});
