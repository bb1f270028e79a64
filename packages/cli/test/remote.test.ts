import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRouter, defineMethod, uncheckedCodec, bytesCodec } from "@quicrpc/core/generated";
import { type Router, RpcError } from "@quicrpc/core";
import { devCertificate, nodeCompressions, serve, type Server } from "@quicrpc/node";
import { createHealth, createReflection, type Health } from "@quicrpc/services";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

const service = { name: "demo.v1.Shop", id: 321 };
const any = uncheckedCodec<unknown>();
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: any, output: any, idempotent: true }),
  fail: defineMethod(service, "unary", "fail", { id: 2, input: any, output: any }),
  log: defineMethod(service, "notify", "log", { id: 3, input: any }),
  count: defineMethod(service, "server_stream", "count", { id: 4, input: any, output: any }),
  sum: defineMethod(service, "client_stream", "sum", { id: 5, input: any, output: any }),
  double: defineMethod(service, "duplex", "double", { id: 6, input: any, output: any }),
  meta: defineMethod(service, "unary", "meta", { id: 8, output: any }),
  flaky: defineMethod(service, "unary", "flaky", { id: 9, output: any, idempotent: true }),
  pipe: defineMethod(service, "duplex", "pipe", { id: 7, input: bytesCodec, output: bytesCodec }),
};

// Each command is a process of its own, of which some tests start several.
vi.setConfig({ testTimeout: 60_000 });

let server: Server;
let health: Health;
let router: Router;
let attempts = 0;
let url: string;
beforeAll(async () => {
  health = createHealth({ "demo.v1.Shop": "not_serving" });
  router = createRouter(methods, {
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
    meta: (_, { metadata, responseMetadata, trailers }) => {
      responseMetadata.set("served-by", "eu-1");
      trailers.set("cost", "3");
      return { tenant: metadata.get("tenant"), tag: metadata.getAll("tag"), key: metadata.get("key-bin") };
    },
    flaky: () => {
      if (++attempts < 2) throw new RpcError("unavailable", "not now");
      return attempts;
    },
    pipe: (input) => input,
  });
  const routers = [router, health.router];
  server = await serve({ listen: ["tcp://127.0.0.1:0"], routers: [...routers, createReflection(routers)] });
  [url] = server.urls as [string];
});
afterAll(async () => {
  await server.close();
  await rm(nowhere, { recursive: true });
});

/** In no project of schemas. */
const nowhere = mkdtempSync(join(tmpdir(), "quicrpc-"));
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Asynchronous, since the server is in this process. */
function quicrpc(args: readonly string[], stdin = "", variables: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: nowhere,
    env: { ...process.env, ...variables, NO_COLOR: "1" },
  });
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

  it("what a server names, and says, reaches the terminal escaped", async () => {
    const nasty = "\u001b]0;owned\u0007\u202e\u009b\nforged";
    const hostile = defineMethod({ name: `a.v1.${nasty}`, id: 9 }, "unary", nasty, { id: 1, input: any, output: any });
    const router = createRouter(
      { hostile },
      {
        hostile: () => {
          throw new RpcError("aborted", nasty, { details: nasty });
        },
      },
    );
    const { fail } = methods;
    const renamed = createRouter(
      { fail },
      {
        fail: () => {
          throw new RpcError("aborted", nasty, { details: nasty });
        },
      },
    );
    const other = await serve({
      listen: ["tcp://127.0.0.1:0"],
      routers: [router, renamed, createReflection([router, renamed])],
    });
    try {
      const shown = "\\u{1b}]0;owned\\u{7}\\u{202e}\\u{9b}\\u{a}forged";
      const [at = ""] = other.urls;
      const { stdout } = await quicrpc(["ls", at]);
      expect(stdout).toContain(`a.v1.${shown}\n  ${shown}  unary`);
      const failed = await quicrpc(["call", at, "demo.v1.Shop/fail", "1"]);
      expect(failed.stderr).toBe(`aborted ${shown}\n"\\u001b]0;owned\\u0007\\u202e\\u009b\\nforged"\n`);
      const json = await quicrpc(["call", at, "demo.v1.Shop/fail", "1", "--json"]);
      expect(JSON.parse(json.stderr)).toEqual({ error: { code: "aborted", message: nasty, details: nasty } });
      expect(json.stderr).not.toMatch(/[\u009b\u202e]/);
    } finally {
      await other.close();
    }
  });

  it("an answer that looks like bytes in JSON is what it is", async () => {
    const given = [
      { type: "Buffer", data: { length: 4_000_000_000 } },
      { type: "Buffer", data: [1] },
      { type: "Buffer", data: 5 },
    ];
    const text = JSON.stringify(given);
    expect(await call("echo", text)).toEqual({ code: 0, stdout: `${text}\n`, stderr: "" });
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

  it("call takes input from a file or stdin, and writes the answer into a file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "quicrpc-call-"));
    try {
      const [input, answer] = [join(folder, "in.json"), join(folder, "out.json")];
      await writeFile(input, '{"a":1}');
      const { code, stdout } = await quicrpc(["call", url, "demo.v1.Shop/echo", `@${input}`, "--out", answer]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
      expect(await readFile(answer, "utf8")).toBe('{"a":1}\n');
      expect((await call("echo", "-", '{"b":2}')).stdout).toBe('{"b":2}\n');
      expect((await call("echo", `@${folder}/none`)).code).toBe(2);
      // Items are a list, or one in each line, as without the argument.
      for (const items of ["[1,2,4]", "1\n2\n4\n", "[1,\n2,4]\n"])
        expect((await call("sum", "-", items)).stdout).toBe("7\n");
      expect((await call("sum", "-", "7\n")).stdout).toBe("7\n");
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("call sends metadata, and tells what it got back", async () => {
    const { stdout, stderr } = await quicrpc([
      "call",
      url,
      "demo.v1.Shop/meta",
      "-v",
      "-m",
      "tenant: north",
      "-m",
      "tag: a",
      "-m",
      "tag: b",
      "-m",
      "key-bin: AQI=",
    ]);
    expect(JSON.parse(stdout)).toEqual({ tenant: "north", tag: ["a", "b"], key: "AQI=" });
    expect(stderr).toContain("metadata served-by: eu-1");
    expect(stderr).toContain("trailers cost: 3");
    const timed = await quicrpc(["call", url, "demo.v1.Shop/echo", '{"a":1}', "-v"]);
    expect(timed.stderr).toMatch(
      /encoding +█+ +[\d.]+ ms\n {2}wire, there +█+ +[\d.]+ ms\n {2}server +█+ +[\d.]+ ms\n {2}wire, back +█/,
    );
    expect(timed.stderr).toMatch(/network: round trip [\d.]+ ms\n$/);
    expect((await quicrpc(["call", url, "demo.v1.Shop/meta", "-m", "nothing"])).code).toBe(2);
  });

  it("call makes a call again where that is safe", async () => {
    const { code, stdout } = await quicrpc(["call", url, "demo.v1.Shop/flaky", "--retry", "3"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "2\n" });
  });

  it("call and load send messages compressed, and load as JSON, where they are told to", async () => {
    const reading = await serve({
      listen: "tcp://127.0.0.1:0",
      routers: [router, createReflection([router])],
      advanced: { compression: { algorithms: nodeCompressions(), minBytes: Infinity } },
    });
    let received = "";
    const between = createServer((socket) => {
      const { hostname, port } = new URL(reading.urls[0] ?? "");
      const on = connect(Number(port), hostname);
      socket
        .on("data", (chunk: Buffer) => (received += chunk.toString("latin1")))
        .pipe(on)
        .pipe(socket);
      socket.on("error", () => on.destroy());
      on.on("error", () => socket.destroy());
    }).listen(0, "127.0.0.1");
    await once(between, "listening");
    const at = `tcp://127.0.0.1:${(between.address() as AddressInfo).port}`;
    const lines = Array.from({ length: 510 }, (_, i) => `line ${i} ${"x".repeat(90)}`);
    const text = JSON.stringify(lines.join(" "));
    const sent = async (...options: string[]): Promise<string> => {
      received = "";
      expect(await quicrpc(["call", at, "demo.v1.Shop/echo", "-", ...options], text)).toMatchObject({
        code: 0,
        stdout: `${text}\n`,
      });
      return received;
    };
    const loaded = async (input: string, ...options: string[]): Promise<string> => {
      received = "";
      const once = ["--warm-up", "0", "--calls", "1"];
      expect(await quicrpc(["load", at, "demo.v1.Shop/echo", input, ...once, ...options])).toMatchObject({ code: 0 });
      return received;
    };
    try {
      expect((await sent()).length).toBeGreaterThan(50_000);
      expect((await sent("--compress")).length).toBeLessThan(5000);
      expect((await loaded(text, "--compress")).length).toBeLessThan(5000);
      expect(await loaded('{"a":"b"}')).not.toContain('{"a":"b"}');
      expect(await loaded('{"a":"b"}', "--codec", "json")).toContain('{"a":"b"}');
      expect(await quicrpc(["load", "http://127.0.0.1:1", "demo.v1.Shop/echo", "1", "--codec", "json"])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--codec cannot be used over plain HTTP"),
      });
    } finally {
      between.close();
      await reading.close();
    }
  });

  // Only sessions with several streams give a call the choice: over TCP all calls share one lane.
  it.skipIf(process.env["QUICRPC_NO_ENGINE"] !== undefined)("call travels as it is told to", async () => {
    // The lane is the one stream that a session may have here.
    const narrow = await serve({
      listen: "quic://127.0.0.1:0",
      tls: await devCertificate(),
      limits: { maxStreams: 1 },
      routers: [router, createReflection([router])],
    });
    const call = (method: string, ...options: string[]): Promise<Outcome> =>
      quicrpc(["call", narrow.urls[0] ?? "", `demo.v1.Shop/${method}`, "2", "--dev", ...options]);
    try {
      expect(await call("echo", "--via", "stream")).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("resource_exhausted"),
      });
      // Of itself a stream of items has one of its own.
      expect(await call("count", "--via", "lane")).toMatchObject({ code: 0 });
      expect(await call("echo", "--via", "sea")).toMatchObject({ code: 2 });
    } finally {
      await narrow.close();
    }
  });

  it("says what to do where a server has no reflection", async () => {
    const other = await serve({ listen: "tcp://127.0.0.1:0", routers: [health.router] });
    try {
      const { code, stderr } = await quicrpc(["call", other.urls[0] ?? "", "demo.v1.Shop/echo", "1"]);
      expect(code).toBe(1);
      expect(stderr).toContain("createReflection(routers)");
      expect(stderr).toContain("or run this command in the project with the server's schemas");
    } finally {
      await other.close();
    }
  });

  it("completes commands, options, and the methods of a server", async () => {
    const complete = async (...words: string[]): Promise<string[]> =>
      (await quicrpc(["complete", "--", ...words])).stdout.split("\n").map((line) => line.split("\t")[0] ?? "");
    expect(await complete("de")).toContain("describe");
    expect(await complete("call", "--met")).toContain("--metadata");
    expect(await complete("call", url, "demo.v1.Shop/e")).toContain("demo.v1.Shop/echo");
    expect(await complete("call", "tcp://127.0.0.1:1", "")).not.toContain("demo.v1.Shop/echo");
    for (const shell of ["bash", "zsh", "fish"]) {
      expect((await quicrpc(["completion", shell])).stdout).toContain("quicrpc complete -- ");
    }
  });

  it("describe shows types and comments", async () => {
    const { code, stdout } = await quicrpc(["describe", url, "quicrpc.v1.Health/check"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^quicrpc\.v1\.Health\n {2}\/\/ .+\n {2}check\(\{\n/);
    expect(stdout).toContain("service: string;");
    expect(stdout).toContain('status: "serving" | "not_serving"');
    const one = await quicrpc(["describe", url, "demo.v1.Shop/count"]);
    expect(one.stdout).toBe("demo.v1.Shop\n  count(unknown): stream<unknown>\n");
    const [{ methods: described }] = JSON.parse(
      (await quicrpc(["describe", url, "quicrpc.v1.Health", "--json"])).stdout,
    );
    expect(described[0]).toMatchObject({ name: "check", input: { type: "object" } });
    expect((await quicrpc(["describe", url, "demo.v1.None"])).code).toBe(1);
  });

  it("help shows a command's help", async () => {
    expect((await quicrpc(["help", "call"])).stdout).toContain("Usage: quicrpc call");
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
    expect((await call("sum", undefined, "1\nx\n")).stderr).toContain("line 2 of stdin is not valid JSON");
    expect((await call("double", undefined, "1\nx\n")).stderr).toContain("line 2 of stdin is not valid JSON");
  });

  it("load calls as often as it is told, and measures", async () => {
    const load = (method: string, ...more: string[]): Promise<Outcome> =>
      quicrpc(["load", url, `demo.v1.Shop/${method}`, "--warm-up", "0", "--calls", "300", ...more]);
    const { code, stdout } = await load("echo", '{"a":1}', "--json");
    expect(code).toBe(0);
    const { calls, failed, latencyMs } = JSON.parse(stdout) as Record<string, Record<string, number>>;
    expect({ calls, failed }).toEqual({ calls: 300, failed: {} });
    expect(latencyMs?.["p50"]).toBeGreaterThan(0);
    expect(Object.keys(latencyMs ?? {}).join(" ")).toBe("min mean p0.1 p1 p5 p10 p25 p50 p75 p90 p95 p99 p99.9 max");
    expect(latencyMs?.["max"]).toBeGreaterThanOrEqual(latencyMs?.["p99"] ?? Number.NaN);

    const items = await load("count", "3", "--json", "--connections", "3", "--in-flight", "2");
    expect(JSON.parse(items.stdout)).toMatchObject({ calls: 300, items: 900 });
    const notified = await load("log", "1", "--json");
    expect(JSON.parse(notified.stdout)).toMatchObject({ calls: 300, latencyMs: null });
    const summed = await load("sum", "[1,2]", "--json", "--calls", "10");
    expect(JSON.parse(summed.stdout)).toMatchObject({ calls: 10, failed: {} });
    expect((await load("echo", "1")).stdout).toMatch(
      /demo.v1.Shop\/echo: 1 session, 64 in flight on each.*\n {2}calls {4}300 [^]*\n {2}latency {2}fastest .*\n {5}0.1% .*\n[^]*\n {4}99.9% /,
    );
  });

  it("load writes a page with plots, of inputs in a file, which loads nothing from elsewhere", async () => {
    const folder = await mkdtemp(join(tmpdir(), "quicrpc-load-"));
    try {
      const [inputs, report] = [join(folder, "inputs.jsonl"), join(folder, "load.html")];
      await writeFile(inputs, '1\n\n"</script>"\n');
      const options = ["--inputs", inputs, "--report", report, "--warm-up", "0", "--calls", "100"];
      expect(await quicrpc(["load", url, "demo.v1.Shop/echo", ...options])).toMatchObject({ code: 0 });
      const page = await readFile(report, "utf8");
      expect(page).toContain("default-src 'none'");
      expect(page).not.toMatch(/(?:src|href)=|@import|url\(/);
      const [, data = ""] = /<script type="application\/json" id="data">(.*?)<\/script>/.exec(page) ?? [];
      const { seconds, quantiles } = JSON.parse(data);
      expect(seconds.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0)).toBe(100);
      expect(quantiles.at(-1)[1]).toBeGreaterThanOrEqual(quantiles[0][1]);
      await writeFile(inputs, "nothing\n");
      expect(await quicrpc(["load", url, "demo.v1.Shop/echo", ...options])).toMatchObject({ code: 2 });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("load begins calls at a rate", async () => {
    const { stdout } = await quicrpc([
      "load",
      url,
      "demo.v1.Shop/echo",
      "1",
      "--json",
      "--warm-up",
      "0",
      "--rate",
      "200",
      "--calls",
      "20",
      "--duration",
      "60",
    ]);
    const { calls, seconds } = JSON.parse(stdout) as Record<string, number>;
    expect(calls).toBe(20);
    expect(seconds).toBeGreaterThanOrEqual(0.095);
  });

  it("load says what cannot be called like that, and what fails while it calls", async () => {
    const failing = await quicrpc(["load", url, "demo.v1.Shop/fail", "1"]);
    expect(failing).toMatchObject({ code: 1, stdout: "" });
    expect(failing.stderr).toContain("out_of_range too far");
    const streaming = await quicrpc(["load", url, "demo.v1.Shop/sum"]);
    expect(streaming).toMatchObject({ code: 1, stdout: "" });
    expect(streaming.stderr).toContain("sum takes a stream: pass a list of its items, as in '[1,2,3]'");
    const endless = await quicrpc(["load", url, "demo.v1.Shop/echo", "1", "--duration", "for ever"]);
    expect(endless).toMatchObject({ code: 2 });
  });

  it("load ends when the server does", async () => {
    let calls = 0;
    let onBusy = (): void => {};
    const busy = new Promise<void>((resolve) => (onBusy = resolve));
    const echo = (input: unknown): unknown => {
      if (++calls === 100) onBusy();
      return input;
    };
    const router = createRouter({ echo: methods.echo }, { echo });
    const other = await serve({ listen: ["tcp://127.0.0.1:0"], routers: [router, createReflection([router])] });
    const loading = quicrpc([
      "load",
      other.urls[0] ?? "",
      "demo.v1.Shop/echo",
      "1",
      "--warm-up",
      "0",
      "--duration",
      "600",
    ]);
    await busy;
    await other.close();
    const { code, stdout } = await loading;
    expect(code).toBe(1);
    expect(stdout).toMatch(/failed .* unavailable: /);
  });

  it("health exits with 1 unless serving", async () => {
    expect(await quicrpc(["health", url])).toEqual({ code: 0, stdout: "serving\n", stderr: "" });
    expect(await quicrpc(["health", url, "demo.v1.Shop", "--json"])).toEqual({
      code: 1,
      stdout: '{"status":"not_serving"}\n',
      stderr: "",
    });
    const known =
      "not_found the server's health service has no service demo.v1.Shpo: did you mean demo.v1.Shop? it has demo.v1.Shop";
    for (const more of [[], ["--watch"]]) {
      const { code, stdout, stderr } = await quicrpc(["health", url, "demo.v1.Shpo", ...more]);
      expect({ code, stdout, said: stderr.split("\n")[0] }).toEqual({ code: 1, stdout: "", said: known });
    }
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

describe("a server that asks who calls", () => {
  let guarded: Server;
  beforeAll(async () => {
    const router = createRouter({ echo: methods.echo }, { echo: (input) => input });
    const routers = [router, health.router];
    guarded = await serve({
      listen: "tcp://127.0.0.1:0",
      routers: [...routers, createReflection(routers)],
      authenticate: async ({ credentials }) => {
        if ((await credentials) !== "a token") throw new RpcError("unauthenticated", "who are you?");
      },
    });
  });
  afterAll(() => guarded.close());

  it.each([
    ["ls", []],
    ["describe", []],
    ["health", []],
    ["ping", ["-n", "1"]],
    ["doctor", []],
    ["call", ["demo.v1.Shop/echo", "1"]],
    ["load", ["demo.v1.Shop/echo", "1", "-n", "2", "--warm-up", "0"]],
  ] as const)("%s says what is wanted, and takes it", async (command, more) => {
    const args = [command, guarded.urls[0] ?? "", ...more];
    const refused = await quicrpc(args);
    expect(refused.code).toBe(1);
    expect(refused.stdout + refused.stderr).toContain("who are you?");
    expect(refused.stdout + refused.stderr).toMatch(/help:.*--credentials-from/);
    const taken = await quicrpc([...args, "--credentials-from", "SHOP_TOKEN"], "", { SHOP_TOKEN: "a token" });
    // To doctor a machine without the engine has a problem of its own.
    const hasEngine = process.env["QUICRPC_NO_ENGINE"] === undefined;
    expect(taken).toMatchObject({ code: hasEngine || command !== "doctor" ? 0 : 1, stderr: "" });
    expect(taken.stdout).not.toContain("--credentials-from");
  });

  it("what cannot be used is wrong usage: 2", async () => {
    for (const args of [
      ["ls", "localhost:4433"],
      ["ls", url, "--ca", "/nowhere/ca.pem"],
      ["ls", url, "--credentials-from", "NO_SUCH_VARIABLE"],
      ["doctor", "localhost"],
    ]) {
      const { code, stderr } = await quicrpc(args);
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).not.toMatch(/\bat .*\.js:/);
    }
  });
});
