// The page of docs/authentication.md that signs in, and the server of that guide.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { devCertificate, type DevCertificate, type ServeOptions, type Server } from "@quicrpc/node";
import { build, type BuildOptions } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Browser, BROWSERS, type Opened } from "./browsers.js";
import { Site } from "./site.js";

const guides = fileURLToPath(new URL("../../examples/guides/src", import.meta.url));
const cache = fileURLToPath(new URL("../.cache", import.meta.url));
const PAGE = `<!doctype html><script src=/page.js></script>${readFileSync(join(guides, "login-page.html"), "utf8")}`;

type ServeShop = (options: Pick<ServeOptions, "listen" | "tls">, accounts: object, handlers: object) => Promise<Server>;

const USERS: Readonly<Record<string, object>> = {
  ann: { userId: "ann", role: "clerk", exp: Infinity },
  ben: { userId: "ben", role: "reader", exp: Infinity },
};
const accounts = {
  userOf: async (name: string, password: string) => (password === "secret" ? USERS[name] : undefined),
  sign: async ({ userId }: { userId: string }) => `token of ${userId}`,
  async verify(token: string) {
    const user = USERS[token.replace("token of ", "")];
    if (user === undefined) throw new Error("not a token");
    return user;
  },
};

describe.each(BROWSERS)("a page that signs in, in %s", (_, path, launch) => {
  describe.skipIf(path === undefined)("with the server of the guide", () => {
    const cancelled: unknown[] = [];
    let folder: string;
    let certificate: DevCertificate;
    let server: Server;
    let site: Site;
    let browser: Browser;
    let page: Opened;

    /** Bundles a module of the guides. */
    async function bundle(contents: string, options: BuildOptions): Promise<string> {
      const stdin = { contents, resolveDir: guides, loader: "ts" } as const;
      const { outputFiles } = await build({ stdin, bundle: true, write: false, logLevel: "error", ...options });
      return outputFiles?.[0]?.text ?? "";
    }

    beforeAll(async () => {
      mkdirSync(cache, { recursive: true });
      folder = mkdtempSync(join(cache, "login-"));
      const outfile = join(folder, "login.mjs");
      await bundle(`export { serveShop } from "./login.js";`, {
        outfile,
        write: true,
        platform: "node",
        format: "esm",
        packages: "external",
      });
      const { serveShop } = (await import(pathToFileURL(outfile).href)) as { serveShop: ServeShop };
      certificate = await devCertificate();
      const handlers = {
        async *list() {},
        prices: () => ({ tea: 3 }),
        cancel: (_: unknown, { connection }: { connection: { userId: string } }) =>
          void cancelled.push(connection.userId),
      };
      server = await serveShop({ listen: "https://127.0.0.1:0/rpc", tls: certificate }, accounts, handlers);
      site = await Site.start();
      const start = `import { startPage } from "./login-page.js"; Object.assign(globalThis, { startPage });`;
      site.files.set("/page.js", { body: await bundle(start, { format: "iife", platform: "browser" }) });
      site.files.set("/page", { body: PAGE, type: "text/html" });
      browser = await launch(path as string);
      page = await browser.open(`${site.origin}/page`);
    }, 60_000);
    afterAll(async () => {
      await browser?.close();
      site?.close();
      await server?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const startCode = (url = server.urls[0] ?? ""): string => `(() => {
      const [form, cancel, message] = ["form", "button", "p"].map((name) => document.querySelector(name));
      const { name, password } = form.elements;
      const value = Uint8Array.from(${JSON.stringify([...certificate.hash.value])});
      const serverCertificateHashes = [{ algorithm: "sha-256", value }];
      const options = { serverCertificateHashes, fallback: false, timeoutMs: 5000 };
      startPage("${url}", { form, name, password, cancel, message }, options);
    })()`;
    const signInCode = (name: string, password: string): string => `(() => {
      const { elements } = document.forms[0];
      elements.name.value = "${name}";
      elements.password.value = "${password}";
      document.forms[0].requestSubmit();
    })()`;
    const start = (): Promise<unknown> => page.evaluate(startCode());
    const signIn = (name: string, password: string): Promise<unknown> => page.evaluate(signInCode(name, password));
    const reload = async (): Promise<void> => {
      await page.evaluate(`void setTimeout(() => location.reload())`);
      await expect.poll(() => message().catch(() => "reloading")).toBe("");
    };
    const cancel = (): Promise<unknown> => page.evaluate(`document.querySelector("button").click()`);
    const message = (): Promise<unknown> => page.evaluate(`document.querySelector("p").textContent`);

    it("permits what the role of the user permits, after a reload too", async () => {
      await start();
      await cancel();
      await expect.poll(message).toContain("shop.v1.Orders/cancel");
      await signIn("ann", "guessed");
      await expect.poll(message).toContain("wrong name or password");
      await signIn("ben", "secret");
      await expect.poll(message).toBe("signed in as ben");
      await cancel();
      await expect.poll(message).toContain("orders:write");
      await signIn("ann", "secret");
      await expect.poll(message).toBe("signed in as ann");
      await cancel();
      await expect.poll(message).toBe("cancelled");
      expect(cancelled).toEqual(["ann"]);
      await reload();
      await start();
      await cancel();
      await expect.poll(message).toBe("cancelled");
      expect(cancelled).toEqual(["ann", "ann"]);
    });

    it("asks for another login if the token has expired", async () => {
      await page.evaluate(`sessionStorage.setItem("token", "expired")`);
      await reload();
      await start();
      await cancel();
      await expect.poll(message).toContain("sign in again");
      await signIn("ann", "secret");
      await expect.poll(message).toBe("signed in as ann");
    });

    it("signs in twice before it is connected, and leaves one session", async () => {
      await reload();
      await page.evaluate([startCode(), signInCode("ann", "secret"), signInCode("ann", "secret")].join());
      await expect.poll(message).toBe("signed in as ann");
      await expect.poll(() => server.sessions.size).toBe(1);
    });

    it("keeps the password out of the URL if there is no server", { timeout: 60_000 }, async () => {
      await reload();
      await page.evaluate(startCode("https://127.0.0.1:1/rpc"));
      await expect.poll(message, { timeout: 30_000 }).not.toBe("");
      await page.evaluate(`document.querySelector("p").textContent = ""`);
      await signIn("ann", "secret");
      await expect.poll(message, { timeout: 30_000 }).not.toBe("");
      expect(await page.evaluate("location.href")).toBe(`${site.origin}/page`);
    });
  });
});
