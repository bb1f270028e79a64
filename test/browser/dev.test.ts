// `quicrpc dev` with a page in Chromium: what the page sees of a restart, of a schema that changes, and of a network in between.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { useProject } from "../../packages/cli/test/project.js";
import { freePort } from "../../scripts/free-port.mjs";
import { Chromium, executablePath } from "./chromium.js";

const vite = join(dirname(createRequire(import.meta.url).resolve("vite/package.json")), "bin/vite.js");

const schema = (methods: string): string => `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
const text = { input: z.string(), output: z.string() };
export const Greeter = service("demo.v1.Greeter", { ${methods} });
`;
const SERVER = `import { createRouter, defaultServiceId, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { devCertificate, serve } from "@quicrpc/node";
import { answer } from "./answer.mjs";
const text = uncheckedCodec();
const service = { name: "demo.v1.Greeter", id: defaultServiceId("demo.v1.Greeter") };
const method = (name, id) => defineMethod(service, "unary", name, { id, input: text, output: text });
await serve({
  listen: \`https://127.0.0.1:\${process.env.PORT}/rpc\`,
  webSocket: true,
  tls: await devCertificate(),
  allowedOrigins: () => true,
  routers: [createRouter({ greet: method("greet", 1), part: method("part", 2) }, { greet: () => answer, part: () => "bye" })],
});
`;
const page = (port: number, call: string): string => `import { connect } from "@quicrpc/browser";
import { serverCertificateHashes } from "virtual:quicrpc";
import { createGreeterClient } from "../generated/greeter.js";
const seen = { answer: "", kind: "", errors: [] as string[], sessions: 0 };
Object.assign(globalThis, { seen });
const connection = await connect("https://127.0.0.1:${port}/rpc", { serverCertificateHashes });
const client = createGreeterClient(connection);
void (async () => {
  for await (const { status } of connection.states()) if (status === "ready") seen.sessions++;
})();
for (;;) {
  try {
    seen.answer = await client.${call}("");
    seen.kind = connection.transport?.kind ?? "";
  } catch (error) {
    seen.errors.push(String(error));
  }
}
`;

interface Seen {
  readonly answer: string;
  readonly kind: string;
  readonly errors: readonly string[];
  readonly sessions: number;
}

describe.skipIf(executablePath === undefined)("a page under quicrpc dev", () => {
  const { start, write } = useProject();
  vi.setConfig({ testTimeout: 120_000 });
  let chromium: Chromium;
  beforeAll(async () => {
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
  });

  const seenBy = (shown: Page): Promise<Seen> =>
    // A page that is being loaded has seen nothing yet.
    shown.evaluate<Seen>("globalThis.seen ?? {}").catch(() => ({ answer: "", kind: "", errors: [], sessions: 0 }));

  async function develop(...options: string[]): Promise<{ shown: Page; dev: ReturnType<typeof start>; port: number }> {
    const [port, site] = [await freePort(), await freePort()];
    write("package.json", '{ "type": "module" }');
    write("src/greeter.service.ts", schema("greet: rpc(text)"));
    write("src/answer.mjs", `export const answer = "one";\n`);
    write("src/server.mjs", SERVER);
    write("src/page/index.html", '<!doctype html><script type="module" src="./main.ts"></script>');
    write("src/page/main.ts", page(port, "greet"));
    write(
      "vite.config.mjs",
      `import { quicrpc } from "@quicrpc/vite";
export default { root: "src/page", plugins: [quicrpc({ generate: false })] };`,
    );
    const beside = ["--", process.execPath, vite, "--host", "127.0.0.1", "--port", String(site), "--strictPort"];
    const dev = start([
      "dev",
      "src/server.mjs",
      "--json",
      "--no-studio",
      "--port",
      String(port),
      ...options,
      ...beside,
    ]);
    onTestFinished(async () => void (await dev.stop()));
    await dev.says(`"event":"listening"`);
    const shown = await chromium.browser.newPage({ ignoreHTTPSErrors: true });
    onTestFinished(() => shown.close());
    const isThere = (): Promise<boolean> =>
      shown.goto(`http://127.0.0.1:${site}/`).then(
        () => true,
        () => false,
      );
    await vi.waitUntil(isThere, { timeout: 60_000 });
    await vi.waitUntil(async () => (await seenBy(shown)).answer === "one", { timeout: 60_000 });
    return { shown, dev, port };
  }

  it("notices nothing of a restart but a reconnect, and has a new method when the schema has", async () => {
    const { shown, dev, port } = await develop();
    await shown.evaluate("globalThis.kept = true");
    write("src/answer.mjs", `export const answer = "two";\n`);
    await dev.says(`"because":["src/answer.mjs"]`);
    await vi.waitUntil(async () => (await seenBy(shown)).answer === "two", { timeout: 60_000 });
    expect(await seenBy(shown)).toEqual({ answer: "two", kind: "webtransport", errors: [], sessions: 2 });
    expect(await shown.evaluate("globalThis.kept")).toBe(true);
    write("src/greeter.service.ts", schema("greet: rpc(text), part: rpc(text)"));
    await dev.says(`"files":["src/generated/greeter.ts"`);
    await dev.says(`"event":"listening"`);
    write("src/page/main.ts", page(port, "part"));
    await vi.waitUntil(async () => (await seenBy(shown)).answer === "bye", { timeout: 60_000 });
    expect((await seenBy(shown)).errors).toEqual([]);
  });

  it.each([
    ["rtt=80 loss=2 down=3mbit", "webtransport"],
    ["3g", "webtransport"],
    ["flaky-wifi", "webtransport"],
    ["no-udp", "websocket"],
  ])("calls through the network %j", async (network, kind) => {
    const { shown, dev } = await develop("--network", network);
    write("src/answer.mjs", `export const answer = "two";\n`);
    await dev.says(`"because":["src/answer.mjs"]`);
    await vi.waitUntil(async () => (await seenBy(shown)).answer === "two", { timeout: 60_000 });
    expect(await seenBy(shown)).toMatchObject({ kind, errors: [] });
  });
});
