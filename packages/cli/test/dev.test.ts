import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { connect, devCertificate } from "@quicrpc/node";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { onTestFinished, expect, test } from "vitest";
import { useProject } from "./project.js";

const { cwd, quicrpc, run, start, write } = useProject();

const schema = (method: string): string => `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const Ping = service("demo.v1.Ping", { ${method}: rpc({ input: z.string(), output: z.string() }) });
`;
const SERVER = `import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { devCertificate, serve } from "@quicrpc/node";
import { answer } from "./answer.mjs";
const text = uncheckedCodec();
const greet = defineMethod({ name: "demo.v1.Ping", id: 4733 }, "unary", "greet", { id: 1, input: text, output: text });
await serve({ listen: \`tls://127.0.0.1:\${process.env.PORT}\`, tls: await devCertificate(), routers: [createRouter({ greet }, { greet: () => answer })] });
`;
const text = uncheckedCodec<string>();
const greet = defineMethod({ name: "demo.v1.Ping", id: 4733 }, "unary", "greet", { id: 1, input: text, output: text });

/** The URL in the lines of JSON of a server that listens. */
function urlIn(said: string): string {
  return /"urls":\["([^"]+)"/.exec(said)?.[1] as string;
}

function project(): void {
  write("src/ping.service.ts", schema("greet"));
  write("src/answer.mjs", `export const answer = "one";\n`);
  write("src/page.mjs", `console.log("a page")\n`);
  write("src/server.mjs", SERVER);
}

test.each([
  ["without a network", []],
  ["through a network", ["--network", "rtt=2 jitter=1"]],
])("restarts the server when a source of it changes, and clients come back: %s", async (_name, network) => {
  project();
  const dev = start(["dev", "--json", "--port", "24733", ...network]);
  onTestFinished(async () => void (await dev.stop()));
  const url = urlIn(await dev.says(`"ms"`));
  expect(url).toBe("tls://127.0.0.1:24733");
  expect(existsSync(join(cwd, "src/generated/ping.ts"))).toBe(true);
  const { hash } = await devCertificate();
  await using connection = await connect(url, { serverCertificateHashes: [hash] });
  expect(await connection.unary(greet, "")).toBe("one");

  // A page is none of the server's business.
  write("src/page.mjs", `console.log("another")\n`);
  write("src/answer.mjs", `export const answer = "two";\n`);
  expect(await dev.says(`"because":["src/answer.mjs"]`)).not.toContain("page.mjs");
  await dev.says(`"ms"`);
  expect(await connection.unary(greet, "", { timeoutMs: 10_000 })).toBe("two");

  // A schema that is wrong leaves the server as it is.
  write("src/ping.service.ts", schema("greet").replaceAll("z.string()", "z.symbol()"));
  await dev.says(`"event":"problem"`);
  expect(await connection.unary(greet, "")).toBe("two");
  write("src/ping.service.ts", schema("salute"));
  await dev.says(`"because":["src/ping.service.ts"]`);
  await dev.says(`"ms"`);
  expect(await connection.unary(greet, "", { timeoutMs: 10_000 })).toBe("two");
  expect(await dev.stop()).toBe(0);
});

test("goes on when the program ends, and says so", async () => {
  project();
  write("src/server.mjs", "process.exit(3)");
  const dev = start(["dev", "--json"]);
  onTestFinished(async () => void (await dev.stop()));
  await dev.says(`{"event":"ended","code":3}`);
  write("src/server.mjs", SERVER.replace("process.env.PORT", "0"));
  await dev.says(`"event":"listening"`);
});

test.each([
  ["without a network", []],
  ["through a network", ["--network", "rtt=2"]],
])("ends if its port is taken: %s", async (_name, network) => {
  project();
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const { code, stderr } = await run(["dev", "--no-studio", "--port", String(port), ...network]);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`\\b${port}\\b.*: stop the process that uses it, or choose another port`));
});

test.each([
  ["without a network", []],
  ["through a network", ["--network", "rtt=2"]],
])("tells a command beside it where clients find the server, and says when it ends: %s", async (_name, network) => {
  project();
  write("beside.mjs", `process.exit(process.env.VITE_QUICRPC_PORT === "24734" ? 4 : 5);\n`);
  const beside = ["--", process.execPath, "beside.mjs"];
  const dev = start(["dev", "--json", "--port", "24734", ...network, "src/server.mjs", ...beside]);
  onTestFinished(async () => void (await dev.stop()));
  await dev.says(JSON.stringify({ event: "besideEnded", command: `${process.execPath} beside.mjs`, code: 4 }));
});

test("says that a command beside it cannot be run", async () => {
  project();
  const dev = start(["dev", "--json", "--port", "24734", "src/server.mjs", "--", "no-such-command", "x"]);
  onTestFinished(async () => void (await dev.stop()));
  await dev.says(`"event":"problem","message":"no-such-command x cannot be run: `);
});

test("says what it needs", () => {
  expect(quicrpc(["dev", "--network", "5g"])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /unknown word "5g" in the description of a network; use rtt=80.*: did you mean 3g\?\n/,
    ),
  });
  expect(quicrpc(["dev"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("found no program to run: name it"),
  });
  expect(quicrpc(["dev", "serve.mjs"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("there is no serve.mjs to run"),
  });
});
