import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Router, RpcError } from "@quicrpc/core";
import { createBatches } from "@quicrpc/batch";
import { createRouter, defineMethod, uncheckedCodec, bytesCodec } from "@quicrpc/core/generated";
import { FrameWriter } from "@quicrpc/core/internal";
import { devCertificate, serve, type Server } from "@quicrpc/node";
import { createHealth, createReflection, createTimings } from "@quicrpc/services";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

const date = { type: "string", format: "date-time", "x-quicrpc-type": "date" };
const big = { type: "integer", "x-quicrpc-type": "bigint" };
const ORDER = {
  type: "object",
  properties: { at: date, big, item: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
};
const LEFT = { type: "object", properties: { left: { type: "integer" } }, required: ["left"] };
const service = {
  name: "demo.v1.Orders",
  id: 322,
  tooling: async () => ({
    methods: { echo: { input: ORDER, output: ORDER }, buy: { errors: { sold_out: LEFT } } },
    snapshot: {},
  }),
};
const any = uncheckedCodec<unknown>();
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: any, output: any }),
  count: defineMethod(service, "server_stream", "count", { id: 2, input: any, output: any }),
  sum: defineMethod(service, "client_stream", "sum", { id: 3, input: any, output: any }),
  double: defineMethod(service, "duplex", "double", { id: 4, input: any, output: any }),
  wait: defineMethod(service, "unary", "wait", { id: 5, output: any }),
  size: defineMethod(service, "unary", "size", { id: 6, input: bytesCodec, output: any }),
  buy: defineMethod(service, "unary", "buy", {
    id: 7,
    errors: { sold_out: { code: "failed_precondition", details: any } },
  }),
};

// Each command is a process of its own.
vi.setConfig({ testTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), "quicrpc-"));
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
let server: Server;
let routers: readonly Router[];
let urls: Readonly<Record<"tcp" | "ws" | "unix" | "http", string>>;
/** Settles when the handler of `wait` is entered, and then when its caller has left. */
let entered: () => void = () => {};
let left: () => void = () => {};

beforeAll(async () => {
  const timings = createTimings();
  const router = createRouter(methods, {
    echo: (input) => input,
    count: async function* (n) {
      for (let i = 1; i <= (n as number); i++) yield i;
    },
    sum: async (items) => {
      let sum = 0;
      for await (const item of items) sum += item as number;
      return sum;
    },
    double: async function* (items) {
      for await (const item of items) yield (item as number) * 2;
    },
    wait: (_, { signal }) => {
      signal.addEventListener("abort", () => left());
      entered();
      return new Promise(() => {});
    },
    size: (bytes) => bytes.length,
    buy: () => {
      throw new RpcError("failed_precondition", "none left", { reason: "sold_out" });
    },
  });
  const batches = createBatches({ timings: true });
  const own = [timings.measure(router), createHealth().router, timings.router, batches];
  routers = [...own, createReflection(own)];
  const socket = join(folder, "socket");
  server = await serve({
    listen: ["tcp://127.0.0.1:0", "ws://127.0.0.1:0/rpc", `unix:${socket}`, "http://127.0.0.1:0"],
    routers,
    http: true,
  });
  const [tcp = "", ws = "", unix = "", http = ""] = server.urls;
  urls = { tcp, ws, unix, http };
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Returns a message as a plan of a batch contains it in JSON. */
function encoded(message: unknown): string {
  const out = new FrameWriter(256);
  any.encode(message, out);
  return Buffer.from(out.written()).toString("base64");
}

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(args: readonly string[]): { readonly child: ChildProcess; readonly outcome: Promise<Outcome> } {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env: { ...process.env, NO_COLOR: "1" } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const outcome = once(child, "close").then(([code]) => ({ code: code as number | null, stdout, stderr }));
  return { child, outcome };
}

function quicrpc(args: readonly string[], stdin = ""): Promise<Outcome> {
  const { child, outcome } = start(args);
  child.stdin?.on("error", () => {}).end(stdin);
  return outcome;
}

const call = (method: string, ...args: string[]): Promise<Outcome> =>
  quicrpc(["call", urls.tcp, `demo.v1.Orders/${method}`, ...args]);

describe.each(["tcp", "ws", "unix", "http"] as const)(
  "commands over %s, where --dev has nothing to trust",
  (scheme) => {
    const over = (command: string, ...args: string[]): Promise<Outcome> =>
      quicrpc([command, urls[scheme], ...args, "--dev"]);

    it("calls of every kind, and their types", async () => {
      const order = '{"at":"2026-01-02T00:00:00.000Z","big":"7"}';
      const made = await over("call", "demo.v1.Orders/echo", '{"at":"2026-01-02","big":7}');
      expect(made).toEqual({ code: 0, stdout: `${order}\n`, stderr: "" });
      expect((await over("call", "demo.v1.Orders/count", "2")).stdout).toBe("1\n2\n");
      expect((await over("call", "demo.v1.Orders/sum", "[1,2,3]")).stdout).toBe("6\n");
      expect((await over("call", "demo.v1.Orders/double", "[1,2]")).stdout).toBe("2\n4\n");
    });

    it("declared errors, by their names", async () => {
      expect((await over("describe", "demo.v1.Orders/buy")).stdout).toContain(
        "buy(): nothing\n    throws sold_out {\n      left: integer;\n    }\n",
      );
      expect(await over("call", "demo.v1.Orders/buy")).toMatchObject({
        code: 1,
        stderr: "failed_precondition sold_out none left\n",
      });
      const json = await over("call", "demo.v1.Orders/buy", "--json");
      expect(JSON.parse(json.stderr)).toEqual({
        error: { code: "failed_precondition", reason: "sold_out", message: "none left" },
      });
    });

    it("everything else", async () => {
      expect((await over("ls", "demo.v1.Orders")).stdout).toContain("count   server_stream");
      expect((await over("describe", "demo.v1.Orders/echo")).stdout).toContain("big?: bigint");
      expect((await over("health")).stdout).toBe("serving\n");
      expect((await over("health", "demo.v1.Odrers")).stderr).toContain("this checks the server as a whole");
      expect((await over("ping", "-n", "2")).code).toBe(0);
      const load = await over("load", "demo.v1.Orders/echo", '{"big":1}', "-n", "5", "--warm-up", "0", "--json");
      expect(JSON.parse(load.stdout)).toMatchObject({ calls: 5, failed: {} });
    });
  },
);

it("a server of plain HTTP that is not there is no session, and what is no scheme was another", async () => {
  expect(await quicrpc(["call", "http://127.0.0.1:1", "demo.v1.Orders/echo", "1"])).toMatchObject({ code: 3 });
  const { code, stderr } = await quicrpc(["ls", "quik://127.0.0.1:1"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^error quik:\/\/ is not a known transport: did you mean quic:\/\/\?/);
  const pinned = await quicrpc(["ls", urls.tcp, "--hash", "00".repeat(32)]);
  const why = `--hash cannot travel to ${urls.tcp} by TCP, which has no TLS: leave it out, or connect by another transport`;
  expect(pinned).toMatchObject({ code: 2, stderr: `error ${why}\n` });
});

it("a method that is named by dots is told by its slash", async () => {
  const { code, stderr } = await quicrpc(["call", urls.tcp, "demo.v1.Orders.echo"]);
  expect(code).toBe(2);
  expect(stderr).toContain("It takes service/method: did you mean demo.v1.Orders/echo?");
  expect((await quicrpc(["call", urls.tcp, "echo"])).stderr).toContain("such as shop.v1.Orders/get.");
});

it("plain HTTP behind TLS is called as that, of servers that are trusted as sessions' are", async () => {
  const { cert, key, hash, file } = await devCertificate({ directory: folder });
  const behind = await serve({ listen: "wss://127.0.0.1:0", tls: { cert, key }, routers, http: true });
  const url = (behind.urls[0] ?? "").replace("wss:", "https:").replace(/\/rpc$/, "");
  const hex = Buffer.from(hash.value).toString("hex");
  const over = (...args: string[]): Promise<Outcome> => quicrpc([...args, "--plain-http"]);
  try {
    for (const trust of [
      ["--hash", hex],
      ["--ca", file],
    ]) {
      expect(await over("call", url, "demo.v1.Orders/sum", "[1,2,3]", ...trust)).toMatchObject({ stdout: "6\n" });
      expect((await over("call", url, "demo.v1.Orders/double", "[1,2]", ...trust)).stdout).toBe("2\n4\n");
      expect((await over("ls", url, "demo.v1.Orders", ...trust)).stdout).toContain("count   server_stream");
      expect((await over("ping", url, "-n", "1", ...trust)).code).toBe(0);
    }
    const other = await over("ls", url, "--hash", "00".repeat(32));
    expect(other).toMatchObject({ code: 3, stderr: expect.stringContaining("has none of the hashes") });
    for (const json of [[], ["--json"]]) {
      const unknown = await over("ls", url, ...json);
      expect(unknown).toMatchObject({
        code: 3,
        stderr: expect.stringContaining("trust the server's certificate: --dev"),
      });
    }
    const session = await over("ls", "quic://127.0.0.1:1");
    expect(session).toMatchObject({ code: 2, stderr: expect.stringContaining("--plain-http requires a URL") });
    expect(await over("ls", urls.http, "--ca", file)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error --ca cannot travel to http:\S+ by HTTP, which has no TLS/),
    });
  } finally {
    await behind.close();
  }
});

it("a name that is misspelt is told what was meant, by every command that takes one", async () => {
  for (const args of [
    ["call", urls.tcp, "demo.v1.Orders/eco", "1"],
    ["load", urls.tcp, "demo.v1.Orders/eco", "1"],
    ["describe", urls.tcp, "demo.v1.Orders/eco"],
  ])
    expect(await quicrpc(args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("demo.v1.Orders has no method eco: did you mean echo? it has buy, count, "),
    });
  for (const args of [
    ["call", urls.tcp, "Orders/echo", "1"],
    ["describe", urls.tcp, "Orders"],
    ["ls", urls.tcp, "Orders"],
  ])
    expect(await quicrpc(args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has no service Orders: did you mean demo.v1.Orders? it has"),
    });
  expect(await quicrpc(["help", "cal"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("unknown command 'cal'\n(Did you mean call?)"),
  });
});

it("fields make a message, of the types that the schema says", async () => {
  const fields = ["-f", "at=2026-01-02", "-f", "big=12", "-f", "item=7", "--data-field", "tags=1", "-f", "tags=b"];
  expect((await call("echo", ...fields)).stdout).toBe(
    '{"at":"2026-01-02T00:00:00.000Z","big":"12","item":"7","tags":["1","b"]}\n',
  );
  expect((await call("echo", '{"item":"a"}', "-f", "big=1")).stdout).toBe('{"item":"a","big":"1"}\n');
  expect(await call("echo", "-f", "item")).toMatchObject({ code: 2 });
  expect((await call("count", "-f", "a=1", "-f", "a=2")).stderr).toContain("--data-field a is given twice");
  expect((await call("sum", "-f", "a=1")).stderr).toContain(
    "sum takes a stream: --data-field only works for a single message",
  );
});

it("an input has to have a place", async () => {
  expect((await call("wait", "1")).stderr).toContain("demo.v1.Orders/wait takes no input");
  expect((await call("sum", "1")).stderr).toContain("pass a list of its items");
  const raw = join(folder, "raw");
  writeFileSync(raw, Uint8Array.of(255, 0, 1));
  expect((await call("size", `@${raw}`)).stdout).toBe("3\n");
  expect((await call("size", "1")).stderr).toContain("size takes raw bytes: pass them as @file");
  expect((await call("echo", `@${raw}`)).stderr).toContain("raw is not valid JSON");
  expect((await quicrpc(["call", urls.tcp, "demo.v1.Orders/size", "-"], "four")).stdout).toBe("4\n");
});

it("an answer's file is opened before the call, and keeps what it has when that fails", async () => {
  expect(await call("echo", "1", "--out", join(folder, "none", "answer"))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^failed_precondition cannot write the file of --out: ENOENT/),
  });
  const answer = join(folder, "answer");
  writeFileSync(answer, "what was there before, which is longer");
  expect((await call("count", '"many"', "--out", answer, "--retry", "0")).code).toBe(2);
  expect((await call("size", "1", "--out", answer)).code).toBe(1);
  expect(await readFile(answer, "utf8")).toBe("what was there before, which is longer");
  expect((await call("count", "2", "--out", answer)).code).toBe(0);
  expect(await readFile(answer, "utf8")).toBe("1\n2\n");
});

it("a report that cannot be written is wrong usage, before anything is called", async () => {
  const report = join(folder, "none", "load.html");
  expect(await quicrpc(["load", urls.tcp, "demo.v1.Orders/echo", "1", "--report", report])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("It must be a writable file: ENOENT"),
  });
});

it("-v shows the steps of a batch", async () => {
  const plan = {
    version: 1,
    steps: [
      { method: "demo.v1.Orders/echo", message: encoded({ n: 7 }), silent: true },
      {
        method: "demo.v1.Orders/echo",
        template: base64("null"),
        references: [{ at: [], from: { step: 0, path: ["n"] } }],
      },
      { method: "demo.v1.Orders/buy" },
    ],
  };
  const run = (...args: string[]): Promise<Outcome> =>
    quicrpc(["call", urls.tcp, "quicrpc.v1.Batch/run", JSON.stringify(plan), ...args]);
  const { code, stderr } = await run("-v");
  expect(code).toBe(0);
  expect(stderr).toMatch(/^ {2}0 demo\.v1\.Orders\/echo {9} *█+ +[\d.]+ ms {2}ok$/m);
  expect(stderr).toMatch(/^ {2}1 demo\.v1\.Orders\/echo after 0 {2} *█+ +[\d.]+ ms {2}ok$/m);
  expect(stderr).toMatch(/^ {2}2 demo\.v1\.Orders\/buy {10} *█+ +[\d.]+ ms {2}failed_precondition: none left$/m);
  expect(stderr).not.toContain("server: handler");
  const { batch } = JSON.parse((await run("-v", "--json")).stderr) as { batch: unknown };
  expect(batch).toMatchObject([{ needs: [], result: "ok" }, { needs: [0], ms: expect.any(Number) }, {}]);
});

it("-v shows what the server has measured, for scripts too", async () => {
  const { stderr } = await call("echo", '{"big":1}', "-v");
  expect(stderr).toMatch(/server: validation +█+ .*\n {2}server: its turn +█+ .*\n {2}server: handler +█/);
  const json = JSON.parse((await call("echo", '{"big":1}', "-v", "--json")).stderr) as Record<string, unknown>;
  expect(json).toMatchObject({
    attempts: [{ encodeMs: expect.any(Number), totalMs: expect.any(Number) }],
    served: { handlerMs: expect.any(Number) },
    network: { rttMs: expect.any(Number) },
  });
});

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s cancels a call, at the server too: %d", async (signal, code) => {
  const isEntered = new Promise<void>((resolve) => (entered = resolve));
  const isLeft = new Promise<void>((resolve) => (left = resolve));
  const { child, outcome } = start(["call", urls.tcp, "demo.v1.Orders/wait", "-v", "--timeout", "60000"]);
  await isEntered;
  child.kill(signal);
  await isLeft;
  const { code: given, stdout, stderr } = await outcome;
  expect({ code: given, stdout }).toEqual({ code, stdout: "" });
  expect(stderr).toContain("total");
});

it("SIGINT ends what goes on, with what is known by then", async () => {
  const watching = start(["health", urls.tcp, "--watch"]);
  await once(watching.child.stdout as NonNullable<ChildProcess["stdout"]>, "data");
  watching.child.kill("SIGINT");
  expect(await watching.outcome).toEqual({ code: 0, stdout: "serving\n", stderr: "" });
  const pinging = start(["ping", urls.tcp, "-n", "100000000"]);
  await once(pinging.child.stdout as NonNullable<ChildProcess["stdout"]>, "data");
  pinging.child.kill("SIGINT");
  const { code, stdout } = await pinging.outcome;
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nmedian [\d.]+ ms of \d+\n$/);
});

it.skipIf(process.platform === "win32")("bash completes by its script alone, and evaluates nothing", async () => {
  const { stdout: script } = await quicrpc(["completion", "bash"]);
  writeFileSync(join(folder, "completion"), script);
  writeFileSync(join(folder, "quicrpc"), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
  const complete = async (line: string): Promise<string> => {
    const run = 'source ./completion; COMP_POINT=${#COMP_LINE}; __quicrpc_complete; printf "%s\\n" "${COMPREPLY[@]}"';
    const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}`, COMP_LINE: line };
    const child = spawn("bash", ["--norc", "-c", run], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(child, "close");
    return said;
  };
  expect(await complete("quicrpc des")).toBe("describe\n");
  expect(await complete(`quicrpc call --timeout 9000 ${urls.tcp} demo.v1.Orders/ec`)).toBe("demo.v1.Orders/echo\n");
  expect(await complete(`quicrpc ls ${urls.tcp} demo`)).toBe("demo.v1.Orders\n");
  expect(await complete(`quicrpc describe ${urls.http} demo.v1.Orders/s`)).toBe(
    "demo.v1.Orders/size\ndemo.v1.Orders/sum\n",
  );
  expect(await complete("quicrpc help cer")).toBe("cert\n");
  await complete("quicrpc call $(touch evaluated) ");
  expect(existsSync(join(folder, "evaluated"))).toBe(false);
});

it("ends without a word when nobody reads its output any more", async () => {
  const { child, outcome } = start(["call", urls.tcp, "demo.v1.Orders/count", "1000000"]);
  await once(child.stdout as NonNullable<ChildProcess["stdout"]>, "data");
  child.stdout?.destroy();
  expect(await outcome).toMatchObject({ code: 0, stderr: "" });
});
