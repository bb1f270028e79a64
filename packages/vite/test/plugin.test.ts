// The plugin in a real Vite: its dev server, with a client of its own in place of a page, and its build.
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { devCertificate } from "@quicrpc/node";
import { quicrpc } from "@quicrpc/vite";
import { build, createServer, type ErrorPayload, type InlineConfig, type Rollup, type ViteDevServer } from "vite";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";

const cache = fileURLToPath(new URL("../.cache", import.meta.url));
mkdirSync(cache, { recursive: true });
const projects: string[] = [];
const servers: ViteDevServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
  for (const path of projects.splice(0)) rmSync(path, { recursive: true, force: true });
});

const schema = (output: string): string => `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
export const Arith = service("demo.v1.Arith", {
  double: rpc({ input: z.object({ a: z.int() }), output: ${output} }),
});
`;
const GOOD = schema("z.object({ b: z.int() })");
const WRONG = schema("z.function()");

/** A project inside the repository, so that packages are found from it. */
function newProject(service: string): { readonly root: string; readonly write: (name: string, text: string) => void } {
  const root = mkdtempSync(join(cache, "test-"));
  projects.push(root);
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  };
  write("package.json", '{ "name": "demo", "type": "module" }');
  write("index.html", '<!doctype html><script type="module" src="/src/main.ts"></script>');
  write(
    "src/main.ts",
    `import { arithMethods } from "./generated/arith.js";
     import { serverCertificateHashes } from "virtual:quicrpc";
     globalThis.shown = [Object.keys(arithMethods), serverCertificateHashes];`,
  );
  write("src/arith.service.ts", service);
  return { root, write };
}

const certificate = { directory: join(cache, "certificate") };
function common(root: string): InlineConfig {
  return { root, configFile: false, logLevel: "silent", plugins: [quicrpc({ certificate })] };
}

async function serve(root: string): Promise<ViteDevServer> {
  const server = await createServer({ ...common(root), server: { host: "127.0.0.1", port: 0 } });
  servers.push(server);
  await server.listen();
  return server;
}

/** A page that keeps the messages that it receives, in order. */
class Page implements AsyncDisposable {
  private readonly messages: Record<string, unknown>[] = [];
  private wake: () => void = () => {};
  private readonly socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (text: Buffer) => {
      this.messages.push(JSON.parse(String(text)) as Record<string, unknown>);
      this.wake();
    });
  }

  static async open({ config, resolvedUrls }: ViteDevServer): Promise<Page> {
    const url = new URL(resolvedUrls?.local[0] ?? resolvedUrls?.network[0] ?? "");
    const socket = new WebSocket(`ws://${url.host}/?token=${config.webSocketToken}`, "vite-hmr");
    const page = new Page(socket);
    await once(socket, "open");
    return page;
  }

  async next(type: string): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.messages.findIndex((message) => message["type"] === type);
      if (found >= 0) return this.messages.splice(0, found + 1).at(-1) as Record<string, unknown>;
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate();
  }
}

describe("the dev server", { timeout: 60_000 }, () => {
  test("generates before it serves, and at each change; mistakes are shown with file and line", async () => {
    const { root, write } = newProject(GOOD);
    const server = await serve(root);
    expect((await server.transformRequest("/src/main.ts"))?.code).toContain("virtual:quicrpc");
    await using page = await Page.open(server);

    write("src/arith.service.ts", WRONG);
    const { err } = (await page.next("error")) as unknown as ErrorPayload;
    expect(err).toMatchObject({
      plugin: "quicrpc",
      loc: { file: join(root, "src/arith.service.ts"), line: 4 },
      message: expect.stringContaining("src/arith.service.ts:4"),
      frame: expect.stringContaining("z.function()"),
    });
    // A page that opens later sees it too.
    await using late = await Page.open(server);
    expect(await late.next("error")).toMatchObject({ err: { plugin: "quicrpc" } });

    write("src/arith.service.ts", GOOD.replace("double", "triple"));
    await page.next("full-reload");
    expect(readFileSync(join(root, "src/generated/arith.ts"), "utf8")).toContain("triple");
  });

  test("gives the page the hash of the development certificate", async () => {
    const server = await serve(newProject(GOOD).root);
    const { serverCertificateHashes } = (await server.ssrLoadModule("virtual:quicrpc")) as {
      serverCertificateHashes: unknown;
    };
    expect(serverCertificateHashes).toEqual([(await devCertificate(certificate)).hash]);
  });

  test("begins with a mistake all the same", async () => {
    const { root, write } = newProject(WRONG);
    const server = await serve(root);
    await using page = await Page.open(server);
    expect(await page.next("error")).toMatchObject({ err: { plugin: "quicrpc" } });
    write("src/arith.service.ts", GOOD);
    await page.next("full-reload");
    expect((await server.transformRequest("/src/main.ts"))?.code).toContain("arithMethods");
  });
});

describe("the build", { timeout: 60_000 }, () => {
  test("generates first, and has no certificate", async () => {
    const { root } = newProject(GOOD);
    const built = (await build({ ...common(root), build: { write: false, minify: false } })) as Rollup.RollupOutput;
    const [{ code }] = built.output;
    expect(code).toContain("double");
    expect(code).toContain("Object.keys(arithMethods), []]");
  });

  test("fails with a schema's mistake, at its place", async () => {
    const { root } = newProject(WRONG);
    const failed = build({ ...common(root), build: { write: false } });
    await expect(failed).rejects.toThrow(/src\/arith\.service\.ts:4/);
    expect(existsSync(join(root, "src/generated"))).toBe(false);
  });
});
