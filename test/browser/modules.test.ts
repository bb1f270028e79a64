import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { devCertificate, type DevCertificate, serve, type Server } from "@quicrpc/node";
import { createHealth } from "@quicrpc/services";
import { build as esbuild } from "esbuild";
import { build as vite, type Rollup } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Chromium, executablePath } from "./chromium.js";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const packages = here("../../packages");

/** Source of the page, whatever loads it. */
const PAGE = `
  import { connect } from "@quicrpc/browser";
  import { createHealthClient } from "@quicrpc/services";
  globalThis.attempt = async (url, hash) => {
    const connection = await connect(url, { serverCertificateHashes: [{ algorithm: "sha-256", value: new Uint8Array(hash) }] });
    const { status } = await createHealthClient(connection).check({ service: "" });
    await connection.close();
    return { kind: connection.transport.kind, status };
  };
`;

describe.skipIf(executablePath === undefined)("a page's modules", () => {
  let chromium: Chromium;
  let certificate: DevCertificate;
  let server: Server;

  beforeAll(async () => {
    certificate = await devCertificate();
    const { cert, key } = certificate;
    const routers = [createHealth({}).router];
    server = await serve({ listen: ["https://127.0.0.1:0/rpc"], tls: { cert, key }, routers });
    chromium = await Chromium.launch();
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    await server?.close();
  });

  /** Opens a page with these tags and returns its result. */
  async function attempt(tags: string): Promise<unknown> {
    chromium.put("/page", { body: `<!doctype html>${tags}`, type: "text/html" });
    const page = await chromium.open("/page");
    const failures: string[] = [];
    page.on("pageerror", ({ message }) => failures.push(message));
    try {
      const hash = JSON.stringify([...certificate.hash.value]);
      const seen = await page.evaluate(`attempt("${server.urls[0]}", ${hash})`);
      expect(failures).toEqual([]);
      return seen;
    } finally {
      await page.close();
    }
  }

  const CONNECTED = { kind: "webtransport", status: "serving" };

  it("are bundled by esbuild, in pieces where they are loaded late", async () => {
    const { outputFiles } = await esbuild({
      stdin: { contents: PAGE, resolveDir: here("..") },
      bundle: true,
      minify: true,
      splitting: true,
      format: "esm",
      outdir: "/esbuild",
      write: false,
    });
    for (const { path, text } of outputFiles) chromium.put(path, { body: text });
    expect(await attempt(`<script type=module src=/esbuild/stdin.js></script>`)).toEqual(CONNECTED);
  });

  it("are bundled by Vite", async () => {
    const virtual = {
      name: "page",
      resolveId: (id: string) => (id === "page.js" ? here("../page.js") : undefined),
      load,
    };
    function load(id: string): string | undefined {
      return id === here("../page.js") ? PAGE : undefined;
    }
    const built = (await vite({
      root: here(".."),
      configFile: false,
      logLevel: "error",
      plugins: [virtual],
      build: { write: false, rollupOptions: { input: "page.js", output: { entryFileNames: "page.js" } } },
    })) as Rollup.RollupOutput;
    for (const file of built.output) {
      chromium.put(`/${file.fileName}`, { body: file.type === "chunk" ? file.code : file.source });
    }
    expect(await attempt(`<script type=module src=/page.js></script>`)).toEqual(CONNECTED);
  });

  it("are loaded as they are published, by an import map", async () => {
    const imports: Record<string, string> = {
      "@quicrpc/blobs/generated": "/modules/blobs/dist/generated.js",
      "@quicrpc/durable/generated": "/modules/durable/dist/generated.js",
      "@quicrpc/core/codec": "/modules/core/dist/codecs.js",
      "@quicrpc/core/generated": "/modules/core/dist/generated.js",
      "@quicrpc/core/internal": "/modules/core/dist/internal.js",
      "@quicrpc/core/measure": "/modules/core/dist/measure.js",
      "@quicrpc/core/transport": "/modules/core/dist/transports.js",
    };
    for (const name of ["core", "blobs", "browser", "durable", "services"]) {
      imports[`@quicrpc/${name}`] = `/modules/${name}/dist/index.js`;
      await publish(join(packages, name, "dist"), `/modules/${name}/dist`);
    }
    chromium.put("/page.js", { body: PAGE });
    const map = `<script type=importmap>${JSON.stringify({ imports })}</script>`;
    expect(await attempt(`${map}<script type=module src=/page.js></script>`)).toEqual(CONNECTED);
  });

  /** Puts the modules of a folder on the site. */
  async function publish(folder: string, path: string): Promise<void> {
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const file of files) {
      if (!file.isFile() || !file.name.endsWith(".js")) continue;
      const source = join(file.parentPath, file.name);
      chromium.put(join(path, relative(folder, source)), { body: await readFile(source, "utf8") });
    }
  }
});
