import { spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DRIVERS, echo, World } from "./harness.js";

/** Runs `body` as a module with the package, a way to dial the echo server, and stream helpers in scope. */
function run(
  body: string,
  env: Record<string, string>,
): Promise<{ code: number | null; signal: string | null; out: string }> {
  const program = `
    import { connect, Endpoint } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
    const value = Buffer.from(process.env.HASH, "hex");
    const options = { host: "127.0.0.1", port: Number(process.env.PORT), alpn: ["test/1"],
      tls: { serverCertificateHashes: [{ algorithm: "sha-256", value }] } };
    const on = (events) => ({ onData() {}, onEnd() {}, onReset() {}, onStopSending() {}, onDrain() {}, onClosed() {}, ...events });
    ${body}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { env: { ...process.env, ...env } });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (out += String(chunk)));
  return new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, out })));
}

describe.each(DRIVERS)("processes, %s driver", (driver) => {
  const world = new World(driver);
  let env: Record<string, string>;

  beforeAll(async () => {
    const server = await world.serve(echo);
    env = {
      PORT: String(server.address.port),
      HASH: Buffer.from(world.certificate.hash).toString("hex"),
      CERT: world.certificate.cert,
      KEY: world.certificate.key,
      QUICRPC_DRIVER: driver,
    };
  });
  afterAll(() => world.close());

  test("exits by itself after its session has closed", async () => {
    const body = `
      const session = await connect(options);
      const stream = session.openStream();
      stream.attach(on({ onData: (chunk) => { console.log(String(Buffer.from(chunk))); session.close(); } }));
      stream.write(Buffer.from("hello"));`;
    expect(await run(body, env)).toEqual({ code: 0, signal: null, out: "hello\n" });
  });

  // In a process of its own: what Rust says of a panic goes to its stderr.
  test("a panic in the engine stays inside, ends the endpoint's sessions, and the process goes on", async () => {
    const dist = new URL("../dist/", import.meta.url).href;
    const body = `
      const { dial } = await import("${dist}dial.js");
      const { engineOptions } = await import("${dist}bind-options.js");
      const { Engine } = await import("${dist}engine.js");
      const { transportNumbers } = await import("${dist}limits.js");
      const { encodeClientTls } = await import("${dist}tls-options.js");
      const engine = new Engine(engineOptions({ host: "127.0.0.1", driver: process.env.QUICRPC_DRIVER }));
      const told = new Promise((resolve) => (engine.onClosed = () => resolve("endpoint closed")));
      const session = await dial(engine, options);
      const ended = new Promise((resolve) => session.attach({
        onStream() {}, onUniStream() {}, onDatagram() {}, onStreamsAvailable() {}, onDrain() {},
        onClosed: (info, { code, source }) => resolve([code, source].join(" of a ")),
      }));
      const stream = session.openStream();
      const streamEnded = new Promise((resolve) => stream.attach(on({ onClosed: ({ code }) => resolve(code) })));
      // A duration that limits.ts lets nobody ask for.
      const settings = transportNumbers().fill(Number.POSITIVE_INFINITY);
      const tls = encodeClientTls(["x"], { serverCertificateHashes: [{ algorithm: "sha-256", value: new Uint8Array(32) }] });
      engine.native.connect("127.0.0.1", 9, "localhost", tls, settings, false);
      console.log(await streamEnded);
      console.log(await ended);
      console.log(await told);
      console.log(stream.write(Buffer.from("into the void")));
      const again = await connect(options);
      console.log("another endpoint works");
      again.close();`;
    const { code, signal, out } = await run(body, env);
    const lines = out.split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/panicked at .*(time|duration)\.rs/),
        "ERR_QUIC_INTERNAL",
        "ERR_QUIC_INTERNAL of a session",
        "endpoint closed",
        "true",
        "another endpoint works",
      ]),
    );
    expect([code, signal]).toEqual([0, null]);
  });

  test("a bound endpoint without sessions does not keep the process", async () => {
    expect(await run(`console.log(Endpoint.bind().driver);`, env)).toEqual({
      code: 0,
      signal: null,
      out: `${driver}\n`,
    });
  });

  test("neither does one that is unref'd, though it listens and has a session", async () => {
    const body = `
      const endpoint = Endpoint.bind({ host: "127.0.0.1" });
      endpoint.listen({ alpn: ["x"], tls: { cert: process.env.CERT, key: process.env.KEY } }, () => {});
      await endpoint.connect(options);
      endpoint.unref();
      console.log("unref");`;
    expect(await run(body, env)).toEqual({ code: 0, signal: null, out: "unref\n" });
  });

  test("an open session does keep it", async () => {
    const body = `
      const session = await connect(options);
      let tick = 0;
      const stream = session.openStream();
      stream.attach(on({ onData: () => { if (++tick === 3) session.close(); else setTimeout(() => stream.write(Buffer.from("x")), 30).unref(); } }));
      stream.write(Buffer.from("x"));
      process.on("exit", () => console.log(tick));`;
    expect(await run(body, env)).toEqual({ code: 0, signal: null, out: "3\n" });
  });

  test("exceptions of handlers reach uncaughtException; the rest of the batch and the engine go on", async () => {
    const body = `
      const session = await connect(options);
      process.on("uncaughtException", (error) => console.log("caught", error.message));
      let left = 3;
      const run = (name, fail) => {
        const stream = session.openStream();
        stream.attach(on({
          onData() { if (fail) throw new Error(name); console.log("data", name); },
          onEnd() { if (--left === 0) session.close(); },
        }));
        stream.write(Buffer.from(name), true);
      };
      run("a", true); run("b", false); run("c", true);`;
    const { code, out } = await run(body, env);
    expect({ code, lines: out.trim().split("\n").sort() }).toEqual({
      code: 0,
      lines: ["caught a", "caught c", "data b"],
    });
  });

  test("an uncaught exception of a handler ends the process as any other", async () => {
    const body = `
      const session = await connect(options);
      const stream = session.openStream();
      stream.attach(on({ onData() { throw new Error("nobody catches this"); } }));
      stream.write(Buffer.from("x"));`;
    const { code, out } = await run(body, env);
    expect(code).toBe(1);
    expect(out).toContain("nobody catches this");
  });

  test("a JavaScript thread that is blocked for a second loses nothing", async () => {
    const body = `
      const session = await connect(options);
      const stream = session.openStream();
      let received = 0, blocked = false;
      stream.attach(on({
        onData: (chunk) => {
          received += chunk.length;
          if (blocked) return;
          blocked = true;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
        },
        onEnd: () => { console.log(received); session.close(); },
      }));
      stream.write(new Uint8Array(8_000_000), true);`;
    expect(await run(body, env)).toEqual({ code: 0, signal: null, out: "8000000\n" });
  });

  test("workers with live connections terminate and exit without harm", async () => {
    const body = `
      import { Worker, isMainThread, parentPort } from "node:worker_threads";
      const program = (exit) => \`
        import { connect } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
        import { parentPort } from "node:worker_threads";
        const value = Buffer.from(process.env.HASH, "hex");
        const session = await connect({ host: "127.0.0.1", port: Number(process.env.PORT), alpn: ["test/1"],
          tls: { serverCertificateHashes: [{ algorithm: "sha-256", value }] } });
        const stream = session.openStream();
        stream.attach({ onData() { parentPort.postMessage(1); \${exit ? "process.exit()" : "stream.write(Buffer.alloc(1000))"} },
          onEnd() {}, onReset() {}, onStopSending() {}, onDrain() {}, onClosed() {} });
        stream.write(Buffer.alloc(1000));\`;
      for (let i = 0; i < 6; i++) {
        const worker = new Worker(new URL("data:text/javascript," + encodeURIComponent(program(i % 2 === 0))));
        await new Promise((resolve, reject) => {
          worker.once("message", () => { if (i % 2 === 1) worker.terminate(); });
          worker.on("error", reject);
          worker.on("exit", resolve);
        });
      }
      console.log("done");`;
    expect(await run(body, env)).toEqual({ code: 0, signal: null, out: "done\n" });
  });

  test("a worker that exits while its endpoint is closing", async () => {
    const body = `
      import { Worker } from "node:worker_threads";
      const program = \`
        import { Endpoint } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
        const endpoint = Endpoint.bind({ host: "127.0.0.1" });
        endpoint.close();
        process.exit();\`;
      for (let i = 0; i < 3; i++) {
        const worker = new Worker(new URL("data:text/javascript," + encodeURIComponent(program)));
        await new Promise((resolve, reject) => worker.on("error", reject).on("exit", resolve));
      }
      console.log("done");`;
    expect(await run(body, env)).toEqual({ code: 0, signal: null, out: "done\n" });
  });

  test("process.exit with live sessions", async () => {
    const body = `
      const session = await connect(options);
      session.openStream().write(Buffer.alloc(100));
      process.exit(7);`;
    expect((await run(body, env)).code).toBe(7);
  });
});
