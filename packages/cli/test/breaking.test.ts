import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RpcError } from "@quicrpc/core";
import { createRouter, defineMethod } from "@quicrpc/core/generated";
import { serve } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { describe, expect, test } from "vitest";
import { useProject } from "./project.js";

const { cwd, quicrpc, start, write } = useProject();

const schema = (methods: string): string => `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const Shop = service("shop.v1.Shop", { ${methods} });
`;
const BEFORE =
  "get: rpc({ input: z.object({ id: z.int() }), output: z.object({ name: z.string(), price: z.number() }) })";
const AFTER =
  "get: rpc({ input: z.object({ id: z.int().min(1) }), output: z.object({ price: z.string() }) }), list: rpc()";

function commit(): void {
  const git = (...args: readonly string[]): void =>
    void execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd, stdio: "ignore" });
  git("init", "-b", "main");
  git("add", ".");
  git("commit", "-m", "first");
}

describe("breaking", () => {
  test("against a git revision: a table, by class, and exit code 1", () => {
    write("api/package.json", "{}");
    write("api/shop.service.ts", schema(BEFORE));
    write("api/quicrpc.config.ts", "export default {};");
    const args = ["breaking", "--config", "api/quicrpc.config.ts", "--against", "main"];
    expect(quicrpc(["gen", "--config", "api/quicrpc.config.ts"]).code).toBe(0);
    commit();
    expect(quicrpc(args)).toEqual({ code: 0, stdout: "against main: no change\n", stderr: "" });
    write("api/shop.service.ts", schema(AFTER));
    const run = quicrpc([...args, "--all"]);
    expect(run).toMatchObject({ code: 1, stderr: "" });
    expect(run.stdout).toMatchInlineSnapshot(`
      "wire        shop.v1.Shop/get output.name   the field is gone
      wire        shop.v1.Shop/get output.price  the type was number and is string
      validation  shop.v1.Shop/get input.id      the minimum is new: 1
      safe        shop.v1.Shop/list              a new method
      against main: 2 wire, 1 validation, 1 safe
      "
    `);
    expect(quicrpc([...args, "--allow", "wire", "validation"]).code).toBe(0);
  });

  test("against a running server, by its reflection", async () => {
    write("shop.service.ts", schema(BEFORE));
    quicrpc(["gen"]);
    const { services } = JSON.parse(readFileSync(join(cwd, "quicrpc.schema.json"), "utf8"));
    const snapshot: unknown = services["shop.v1.Shop"];
    const shop = { name: "shop.v1.Shop", id: 1, tooling: async () => ({ methods: {}, snapshot }) };
    const router = createRouter({ get: defineMethod(shop, "unary", "get", { id: 1 }) }, { get: () => {} });
    const server = await serve({
      listen: ["tcp://127.0.0.1:0", "http://127.0.0.1:0"],
      http: true,
      routers: [router, createReflection([router])],
      onError: () => {},
    });
    try {
      for (const url of server.urls) {
        write("shop.service.ts", schema(BEFORE));
        const same = start(["breaking", "--against", url]);
        expect(await same.says(`against ${url}: no change\n`)).toBe(`against ${url}: no change\n`);
        write("shop.service.ts", schema(AFTER));
        const changed = start(["breaking", "--against", url]);
        const sum = `against ${url}: 2 wire, 1 validation, 1 safe\n`;
        expect(await changed.says(sum)).toContain("wire        shop.v1.Shop/get output.name   the field is gone");
        await Promise.all([same.stop(), changed.stop()]);
      }
    } finally {
      await server.close();
    }
    const run = quicrpc(["breaking", "--against", "unix:/nobody/is/there"]);
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toContain("unix:/nobody/is/there did not return its schema: ");
  });

  test("against a server whose schemas an earlier version wrote", async () => {
    write("shop.service.ts", schema(BEFORE));
    quicrpc(["gen"]);
    const snapshot = {
      format: 2,
      id: 1,
      methods: { get: { id: 1, kind: "unary", input: { type: "text" } } },
      types: {},
    };
    const shop = { name: "shop.v1.Shop", id: 1, tooling: async () => ({ methods: {}, snapshot }) };
    const router = createRouter({ get: defineMethod(shop, "unary", "get", { id: 1 }) }, { get: () => {} });
    const server = await serve({
      listen: ["tcp://127.0.0.1:0"],
      routers: [createReflection([router])],
      onError: () => {},
    });
    try {
      const run = start(["breaking", "--against", ...server.urls]);
      expect(await run.says("help: Update quicrpc on the server")).toContain(
        "written by an earlier version of quicrpc",
      );
      await run.stop();
    } finally {
      await server.close();
    }
  });

  test("against a server that wants to know who asks", async () => {
    write("shop.service.ts", schema(BEFORE));
    quicrpc(["gen"]);
    const server = await serve({
      listen: ["tcp://127.0.0.1:0"],
      routers: [createReflection([])],
      authenticate: async ({ credentials }) => {
        if ((await credentials) !== "a token") throw new RpcError("unauthenticated", "no token");
      },
      onError: () => {},
    });
    try {
      const [url] = server.urls as [string];
      const refused = start(["breaking", "--against", url]);
      const said = await refused.says("--credentials-from");
      expect(said).toContain(`${url} did not return its schema: `);
      expect(said).toMatch(/\(unauthenticated\).*help: .*--credentials-from/s);
      const known = start(["breaking", "--against", url, "--credentials-from", "SHOP_TOKEN"], {
        SHOP_TOKEN: "a token",
      });
      await known.says(`against ${url}: `);
      await Promise.all([refused.stop(), known.stop()]);
    } finally {
      await server.close();
    }
  });

  test("against a file, as JSON", () => {
    write("shop.service.ts", schema(BEFORE));
    quicrpc(["gen"]);
    write("old.json", readFileSync(join(cwd, "quicrpc.schema.json"), "utf8"));
    write("shop.service.ts", schema(AFTER));
    const run = quicrpc(["breaking", "--against", "old.json", "--json"]);
    expect(run).toMatchObject({ code: 1, stderr: "" });
    expect(JSON.parse(run.stdout)).toMatchObject({
      against: "old.json",
      diagnostics: [],
      changes: [
        { class: "wire", kind: "field-removed-required", service: "shop.v1.Shop", method: "get", path: "output.name" },
        { class: "wire", kind: "type-changed", path: "output.price" },
        { class: "validation", kind: "check-tightened", path: "input.id" },
        { class: "safe", kind: "method-added", method: "list" },
      ],
    });
    // The lock stands for the snapshot beside it, which no command but gen writes.
    expect(quicrpc(["breaking", "--against", "quicrpc.lock.json"]).code).toBe(1);
  });

  test("against what another version wrote, without checks", () => {
    write("shop.service.ts", schema(BEFORE));
    quicrpc(["gen"]);
    const old = JSON.parse(readFileSync(join(cwd, "quicrpc.schema.json"), "utf8"));
    delete old.services["shop.v1.Shop"].format;
    write("old.json", JSON.stringify(old));
    write("shop.service.ts", schema(BEFORE.replace("z.int()", "z.int().min(1)")));
    const run = quicrpc(["breaking", "--against", "old.json"]);
    expect(run).toMatchObject({ code: 0, stdout: "against old.json: no change\n" });
    expect(run.stderr).toMatch(/^Checks .* are not compared: the schemas of old\.json .* quicrpc gen .*\n$/);
    const json = quicrpc(["breaking", "--against", "old.json", "--json"]);
    expect(JSON.parse(json.stderr)).toEqual({ notice: run.stderr.trim() });
    expect(quicrpc(["breaking", "--against", "quicrpc.schema.json"])).toMatchObject({ code: 1, stderr: "" });
  });

  test("nothing to compare with exits with 2", () => {
    write("shop.service.ts", schema(BEFORE));
    commit();
    const run = quicrpc(["breaking", "--against", "main"]);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain("quicrpc.schema.json is not in main: commit it");
    expect(quicrpc(["breaking", "--against", "nowhere"]).stderr).toContain(
      "nowhere is neither a file nor a git revision.",
    );
    write("bad.json", "{}");
    expect(quicrpc(["breaking", "--against", "bad.json"]).stderr).toContain("bad.json cannot be read");
    write("old.json", '{ "version": 1, "services": {} }');
    const old = quicrpc(["breaking", "--against", "old.json"]).stderr;
    expect(old).toContain("help: Run quicrpc gen of this version at the old commit");
    expect(quicrpc(["breaking"]).code).toBe(2);
  });
});
