// Where QUIC cannot be used: no engine on this platform, or a network without UDP.
import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { promisify } from "node:util";
import { createRouter } from "@quicrpc/core/generated";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { expect, it } from "vitest";
import { methods } from "../behaviour/service.js";
import { closedAfterEach } from "../open.js";

const open = closedAfterEach();

const { echo } = methods;
const routers = [createRouter({ echo }, { echo: (input) => input })];

/** Programs in which this platform is one that has no engine. */
const WITHOUT_ENGINE = 'Object.defineProperty(process, "platform", { value: "aix" });';

async function run(program: string): Promise<unknown> {
  const options = { cwd: new URL("../..", import.meta.url), timeout: 30_000 };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "-e", `${WITHOUT_ENGINE}${program}`],
    options,
  );
  return JSON.parse(stdout);
}

it("reaches the server by its fallback in a network without UDP", async () => {
  // Takes every packet, as a firewall does, and says nothing.
  const hole = createSocket("udp4").bind(0, "127.0.0.1");
  await once(hole, "listening");
  open.push(hole);
  const { cert, key, hash } = await devCertificate();
  const server = await serve({ listen: "wss://127.0.0.1:0", tls: { cert, key }, routers });
  open.push(server);
  const reasons: Error[] = [];
  const connection = await connect(`quic://127.0.0.1:${hole.address().port}`, {
    serverCertificateHashes: [hash],
    fallback: { url: server.urls[0]!, afterMs: 10, onFallback: (reason) => reasons.push(reason) },
  });
  open.push(connection);
  expect(await connection.unary(echo, { text: "by TCP" })).toEqual({ text: "by TCP" });
  expect(reasons.map(String)).toEqual(["Error: no answer within 10 ms: UDP may be blocked"]);
});

it("checks the fallback before it dials", async () => {
  const wrong = (fallback: object) => connect("quic://127.0.0.1:9", { fallback: fallback as never });
  await expect(wrong({ url: "127.0.0.1:9" })).rejects.toThrow('"127.0.0.1:9" has no scheme');
  await expect(wrong({ url: "wss://127.0.0.1:9", afterms: 3 })).rejects.toThrow("did you mean fallback.afterMs?");
  await expect(connect("quic://h:9", { ca: "…", fallback: { url: "tcp://127.0.0.1:9" } })).rejects.toThrow(
    "the option ca cannot travel to tcp://127.0.0.1:9 by TCP, which has no TLS: leave it out, or connect by another transport",
  );
});

it("serves and connects without an engine", async () => {
  const told = await run(`
    import { connect, devCertificate, serve } from "@quicrpc/node";
    import { createHealth } from "@quicrpc/services";
    const { cert, key, hash } = await devCertificate();
    const errors = [];
    const onError = (error) => errors.push(error.code);
    const health = createHealth();
    const server = await serve({ listen: "quic://127.0.0.1:0", webSocket: true, advanced: { engine: "optional" }, tls: { cert, key }, routers: [health.router], onError });
    const [url] = server.urls;
    const reasons = [];
    const connection = await connect(url.replace("wss:", "quic:"), { serverCertificateHashes: [hash], fallback: { url, onFallback: ({ code }) => reasons.push(code) } });
    await connection.ready();
    await connection.close();
    await server.close();
    console.log(JSON.stringify({ errors, reasons, scheme: new URL(url).protocol }));
  `);
  expect(told).toEqual({
    errors: ["ERR_QUIC_NATIVE_MISSING"],
    reasons: ["ERR_QUIC_NATIVE_MISSING"],
    scheme: "wss:",
  });
});

it.each([
  ["the engine is required", `{ webSocket: true }`],
  ["nothing else is left", `{ advanced: { engine: "optional" } }`],
])("refuses to serve without an engine where %s", async (_, options) => {
  const told = await run(`
    import { devCertificate, serve } from "@quicrpc/node";
    const { cert, key } = await devCertificate();
    const error = await serve({ listen: "quic://127.0.0.1:0", tls: { cert, key }, routers: [], onError() {}, ...${options} }).catch((error) => error);
    console.log(JSON.stringify({ code: error.code, hint: error.hint }));
  `);
  expect(told).toEqual({ code: "ERR_QUIC_NATIVE_MISSING", hint: expect.stringContaining("use wss:// or tls://") });
});
