import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createRouter, defineMethod, msgpackCodec, rawCodec, RpcError } from "@quicrpc/core";
import { serve, type Server } from "@quicrpc/node";
import { createHealth, createReflection, type Health } from "@quicrpc/services";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const service = { name: "demo.v1.Shop", id: 321 };
const any = msgpackCodec<unknown>();
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: any, output: any, idempotent: true }),
  fail: defineMethod(service, "unary", "fail", { id: 2, input: any, output: any }),
  log: defineMethod(service, "notify", "log", { id: 3, input: any }),
  count: defineMethod(service, "server_stream", "count", { id: 4, input: any, output: any }),
  sum: defineMethod(service, "client_stream", "sum", { id: 5, input: any, output: any }),
  double: defineMethod(service, "duplex", "double", { id: 6, input: any, output: any }),
  pipe: defineMethod(service, "duplex", "pipe", { id: 7, input: rawCodec, output: rawCodec }),
};

let server: Server;
let health: Health;
let url: string;
beforeAll(async () => {
  health = createHealth({ "demo.v1.Shop": "not_serving" });
  const router = createRouter(methods, {
    echo: (input) => input,
    fail: () => {
      throw new RpcError("out_of_range", "too far", { details: { most: 3 } });
    },
    log: () => {},
    count: async function* (n) {
      for (let i = 0; i < (n as number); i++) yield { i, big: 2n ** 60n, bytes: new Uint8Array([1, 2]) };
    },
    sum: async (items) => {
      let sum = 0;
      for await (const item of items) sum += item as number;
      return sum;
    },
    double: async function* (items) {
      for await (const item of items) yield (item as number) * 2;
    },
    pipe: (input) => input,
  });
  const routers = [router, health.router];
  server = await serve({ listen: ["tcp://127.0.0.1:0"], routers: [...routers, createReflection(routers)] });
  [url] = server.urls as [string];
});
afterAll(() => server.close());

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Asynchronous, since the server is in this process. */
function quicrpc(args: readonly string[], stdin = ""): Promise<Outcome> {
  const child = spawn(process.execPath, [main, ...args], { env: { ...process.env, NO_COLOR: "1" } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.on("error", () => {});
  child.stdin.end(stdin);
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
}

const call = (method: string, input?: string, stdin?: string): Promise<Outcome> =>
  quicrpc(["call", url, `demo.v1.Shop/${method}`, ...(input === undefined ? [] : [input])], stdin);

describe("commands that call a server", () => {
  it("ls lists services and methods, for people and for scripts", async () => {
    const { code, stdout } = await quicrpc(["ls", url]);
    expect(code).toBe(0);
    expect(stdout).toContain("demo.v1.Shop\n  count   server_stream");
    expect(stdout).toContain("echo    unary, idempotent");
    expect(stdout).toContain("pipe    duplex, raw bytes");
    expect(stdout).toContain("quicrpc.v1.Reflection");
    const json = await quicrpc(["ls", url, "quicrpc.v1.Health", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject([
      { name: "quicrpc.v1.Health", methods: [{ name: "check" }, { name: "watch", kind: "server_stream" }] },
    ]);
    expect((await quicrpc(["ls", url, "demo.v1.None"])).code).toBe(1);
  });

  it("call makes calls of every kind", async () => {
    expect(await call("echo", '{"a":[1,"ü",null]}')).toEqual({ code: 0, stdout: '{"a":[1,"ü",null]}\n', stderr: "" });
    expect(await call("log", '"line"')).toEqual({ code: 0, stdout: "", stderr: "" });
    const item = '"big":"1152921504606846976","bytes":"AQI="';
    expect((await call("count", "2")).stdout).toBe(`{"i":0,${item}}\n{"i":1,${item}}\n`);
    expect((await call("sum", undefined, "1\n\n2\n3\n")).stdout).toBe("6\n");
    expect((await call("double", undefined, "1\n2\n")).stdout).toBe("2\n4\n");
    expect((await call("pipe", undefined, "raw bytes")).stdout).toBe("raw bytes");
  });

  it("a failed call exits with 1 and says why", async () => {
    const failed = await call("fail", "1");
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toBe('out_of_range too far\n{\n  "most": 3\n}\n');
    const json = await quicrpc(["call", url, "demo.v1.Shop/fail", "1", "--json"]);
    expect(JSON.parse(json.stderr)).toEqual({
      error: { code: "out_of_range", message: "too far", details: { most: 3 } },
    });
    expect((await call("none")).stderr).toContain("demo.v1.Shop has no method none; it has count, double");
    expect((await call("sum", undefined, "1\nx\n")).stderr).toContain("line 2 of stdin is no JSON");
    expect((await call("double", undefined, "1\nx\n")).stderr).toContain("line 2 of stdin is no JSON");
  });

  it("health exits with 1 unless serving", async () => {
    expect(await quicrpc(["health", url])).toEqual({ code: 0, stdout: "serving\n", stderr: "" });
    expect(await quicrpc(["health", url, "demo.v1.Shop", "--json"])).toEqual({
      code: 1,
      stdout: '{"status":"not_serving"}\n',
      stderr: "",
    });
    expect((await quicrpc(["health", url, "demo.v1.None"])).stderr).toContain("not_found");
  });

  it("ping measures", async () => {
    const { code, stdout } = await quicrpc(["ping", url, "-n", "2"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[\d.]+ ms\n[\d.]+ ms\nmedian [\d.]+ ms of 2\n$/);
  });

  it("wrong usage exits with 2, no session with 3", async () => {
    expect((await quicrpc(["call", url, "echo"])).stderr).toContain("service/method");
    expect((await call("echo", "{")).code).toBe(2);
    expect((await quicrpc(["ping", url, "--hash", "12"])).code).toBe(2);
    const nobody = await quicrpc(["ping", "tcp://127.0.0.1:1"]);
    expect(nobody).toMatchObject({ code: 3, stdout: "" });
    expect(nobody.stderr).toContain("ECONNREFUSED");
  });
});
