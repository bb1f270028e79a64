import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { type Router, RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { devCertificate, type DevCertificate, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { behaviourRouter, Witness } from "../behaviour/service.js";
import { type Browser, BROWSERS, type Opened } from "./browsers.js";
import { type File, Site } from "./site.js";

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

/** Program of the guide. */
interface ServerOfGuide {
  readonly serveScriptTag: (options: Partial<ServeOptions>, router: Router) => Promise<Server>;
}

const service = { name: "demo.v1.Arith", id: 77 };
const numbers = zodCodec(z.object({ a: z.int(), b: z.int() }));
const arith = {
  multiply: defineMethod(service, "unary", "multiply", {
    id: 1,
    input: numbers,
    output: zodCodec(z.object({ pro: z.int() })),
  }),
  ticks: defineMethod(service, "server_stream", "ticks", {
    id: 2,
    input: zodCodec(z.object({ n: z.int() })),
    output: zodCodec(z.object({ i: z.int(), at: z.date(), bytes: z.instanceof(Uint8Array) })),
  }),
  last: defineMethod(service, "unary", "last", {
    id: 3,
    output: zodCodec(z.object({ at: z.date(), bytes: z.instanceof(Uint8Array) })),
  }),
};
const VALUES = { at: new Date(5000), bytes: new Uint8Array([1, 2]) };
const arithRouter = createRouter(arith, {
  multiply: ({ a, b }) => ({ pro: a * b }),
  *ticks({ n }) {
    for (let i = 0; i < n; i++) yield { i, ...VALUES };
  },
  last: () => VALUES,
});
/** Shows the values of a message, with their types. */
const SHOW = `(({ at, bytes }) => [at.toISOString(), bytes.constructor.name, bytes.length])`;
const SHOWN = ["1970-01-01T00:00:05.000Z", "Uint8Array", 2];

describe.each(BROWSERS)("the script for pages without a bundler, in %s", (_, path, launch) => {
  describe.skipIf(path === undefined)("from a static file server", () => {
    let browser: Browser;
    let site: Site;
    /** Another host with the files. */
    let host: Site;
    let certificate: DevCertificate;
    let server: Server | undefined;
    let page: Opened | undefined;
    let hash: string;
    /** Transports of the sessions. */
    let seen: string[] = [];

    beforeAll(async () => {
      certificate = await devCertificate();
      hash = JSON.stringify([...certificate.hash.value]);
      site = await Site.start();
      host = await Site.start();
      await put("quicrpc.js");
      await put("quicrpc-session.js");
      browser = await launch(path as string);
    }, 60_000);
    afterAll(async () => {
      await browser?.close();
      site?.close();
      host?.close();
    });
    afterEach(async () => {
      await page?.close();
      await server?.close();
      await put("quicrpc-session.js");
      page = undefined;
      server = undefined;
    });

    async function put(name: string): Promise<void> {
      const file = { body: await read(`packages/browser/script/${name}`) };
      site.files.set(`/${name}`, file);
      host.files.set(`/${name}`, { ...file, headers: { "access-control-allow-origin": "*" } });
    }

    async function listen(options: Partial<ServeOptions> = {}): Promise<string> {
      seen = [];
      const routers = [behaviourRouter(new Witness()), arithRouter];
      const { cert, key } = certificate;
      server = await serve({
        listen: ["https://127.0.0.1:0/rpc"],
        tls: { cert, key },
        routers: [...routers, createReflection(routers)],
        http: { prefix: "/rpc" },
        webSocket: true,
        allowedOrigins: [site.origin],
        authenticate: async ({ transport, credentials }) => {
          if (transport !== "http") seen.push(transport);
          if ((await credentials) === "wrong") throw new RpcError("unauthenticated", "sign in first");
        },
        ...options,
      });
      return server.urls[0] as string;
    }

    /**
     * Opens a page with the script and connects.
     *
     * @param nonce of the page's policy, for a script from another host; default: the policy allows scripts of this site
     */
    async function connect(
      url: string,
      { hash, nonce, credentials }: { hash?: string; nonce?: string; credentials?: string } = {},
    ): Promise<Opened> {
      const text = await read("packages/browser/script/quicrpc.js");
      const integrity = `sha384-${createHash("sha384").update(text).digest("base64")}`;
      const allowed = nonce === undefined ? "'self'" : `'nonce-${nonce}'`;
      const server = new URL(url);
      const headers = {
        "content-security-policy": `script-src ${allowed}; connect-src ${server.origin} wss://${server.host} ws://${server.host}`,
      };
      const src = nonce === undefined ? "quicrpc.js" : `${host.origin}/quicrpc.js`;
      const body = `<!doctype html><script src="${src}" integrity="${integrity}" crossorigin nonce="${nonce ?? ""}"></script>`;
      site.files.set("/page", { body, type: "text/html", headers });
      page = await browser.open(`${site.origin}/page`);
      const hashes = hash === undefined ? "undefined" : `[{ algorithm: "sha-256", value: new Uint8Array(${hash}) }]`;
      const options = `{ serverCertificateHashes: ${hashes}, credentials: ${JSON.stringify(credentials)} }`;
      await page.evaluate(`quicrpc.connect("${url}", ${options}).then((client) => { globalThis.client = client; })`);
      return page;
    }

    const files = `performance.getEntriesByType("resource").map(({ name }) => new URL(name)).filter(({ pathname }) => pathname.endsWith(".js")).map(({ pathname, search }) => pathname + search)`;
    const ticks = (n: number): string => `(async () => {
      const seen = [];
      for await (const { i } of await client.stream("demo.v1.Arith/ticks", { n: ${n} })) seen.push(i);
      return seen;
    })()`;
    /** Shows the error of a call. */
    const failure = (call: string): string =>
      `${call}.catch((error) => [error instanceof quicrpc.RpcError, error.code, error.message, error.hint ?? ""])`;

    it("calls over HTTP, and loads its second file for streams", async () => {
      const page = await connect(await listen(), { hash });
      expect(await page.evaluate(`client.call("demo.v1.Arith/multiply", { a: 9, b: 2 })`)).toEqual({ pro: 18 });
      expect(await page.evaluate(`client.call("demo.v1.Arith/last").then(${SHOW})`)).toEqual(SHOWN);
      expect(await page.evaluate(files)).toEqual(["/quicrpc.js"]);
      expect(seen).toEqual([]);
      expect(await page.evaluate(`Promise.all([${ticks(3)}, ${ticks(2)}])`)).toEqual([
        [0, 1, 2],
        [0, 1],
      ]);
      expect(await page.evaluate(`client.stream("demo.v1.Arith/last").then(${SHOW})`)).toEqual(SHOWN);
      // Its URL changes with its contents, so no cache has the file of another version.
      const text = await read("packages/browser/script/quicrpc-session.js");
      const session = `/quicrpc-session.js?sha256-${createHash("sha256").update(text).digest("base64")}`;
      expect(await page.evaluate(files)).toEqual(["/quicrpc.js", session]);
      expect(seen).toEqual(["webtransport"]);
      await page.evaluate(`client.close()`);
      await expect.poll(() => server?.sessions.size).toBe(0);
      for (const kind of ["call", "stream"]) {
        const refused = await page.evaluate(failure(`client.${kind}("demo.v1.Arith/last")`));
        expect(refused).toEqual([true, "unavailable", "the client was closed", ""]);
      }
    });

    it("runs the page of the guide", async () => {
      const guide = "examples/guides/script-tag";
      const { cert, key } = certificate;
      const options = { listen: ["https://127.0.0.1:0/rpc"], tls: { cert, key }, allowedOrigins: [site.origin] };
      const program = new URL("../../examples/guides/src/script-tag.ts", import.meta.url).href;
      const { serveScriptTag } = (await import(program)) as ServerOfGuide;
      server = await serveScriptTag(options, arithRouter);
      const script = (await read(`${guide}/page.js`)).replace("https://example.org:4433/rpc", server.urls[0] as string);
      site.files.set("/page.js", { body: script });
      site.files.set("/guide", { body: await read(`${guide}/index.html`), type: "text/html" });
      page = await browser.open(`${site.origin}/guide`);
      const text = `document.body.textContent.replace(/\\s+/g, " ").trim()`;
      await expect.poll(() => page?.evaluate(text)).toBe("18 tick 0 tick 1 tick 2");
    });

    it.each([
      ["is missing", true],
      ["fails", false],
    ])("uses a WebSocket if WebTransport %s, with calls of every kind", async (_, isMissing) => {
      const page = await connect(await listen());
      if (isMissing) await page.evaluate(`void (globalThis.WebTransport = undefined)`);
      expect(await page.evaluate(ticks(2))).toEqual([0, 1]);
      expect(await page.evaluate(`client.stream("test.v1.Behaviour/sum", [1, 2, 3])`)).toBe(6);
      const chat = `(async () => {
        const { readable, writable } = await client.stream("test.v1.Behaviour/chat");
        const writer = writable.getWriter();
        await writer.write("one");
        await writer.close();
        const heard = [];
        for await (const text of readable) heard.push(text);
        return heard;
      })()`;
      expect(await page.evaluate(chat)).toEqual(["HELLO", "ONE", "BYE"]);
      expect(seen).toEqual(["websocket"]);
    });

    it("uses plain HTTP and a WebSocket without TLS", async () => {
      const url = await listen({ listen: ["ws://127.0.0.1:0/rpc"] });
      const page = await connect(url.replace("ws:", "http:"));
      expect(await page.evaluate(ticks(2))).toEqual([0, 1]);
      expect(seen).toEqual(["websocket"]);
    });

    it("opens another session after the server has ended one", async () => {
      const page = await connect(await listen(), { hash });
      expect(await page.evaluate(ticks(1))).toEqual([0]);
      for (const session of (server as Server).sessions) await session.drain();
      await expect.poll(() => server?.sessions.size).toBe(0);
      expect(await page.evaluate(ticks(2))).toEqual([0, 1]);
      expect(seen).toEqual(["webtransport", "webtransport"]);
    });

    it("loads its second file by the nonce of the first, and only if it is not changed", async () => {
      const page = await connect(await listen(), { hash, nonce: "a1b2" });
      const file = host.files.get("/quicrpc-session.js") as File;
      host.files.set("/quicrpc-session.js", { ...file, body: `${String(file.body)};` });
      expect(await page.evaluate(failure(ticks(1)))).toEqual([
        true,
        "unavailable",
        expect.stringMatching(/quicrpc-session\.js\?\S+ cannot be loaded, or has been changed$/),
        "",
      ]);
      await put("quicrpc-session.js");
      expect(await page.evaluate(ticks(1))).toEqual([0]);
    });

    it("reports errors of the server with their codes, over HTTP and in sessions", async () => {
      const page = await connect(await listen(), { hash });
      const input = `{ code: "not_found", message: "no such note" }`;
      for (const kind of ["call", "stream"]) {
        const seen = await page.evaluate(failure(`client.${kind}("test.v1.Behaviour/fail", ${input})`));
        expect(seen).toEqual([true, "not_found", "no such note", ""]);
      }
      expect(await page.evaluate(failure(`client.stream("demo.v1.Arith/divide")`))).toEqual([
        true,
        "unimplemented",
        "the server has no method demo.v1.Arith/divide",
        "",
      ]);
      expect(await page.evaluate(failure(`client.call("demo.v1.Arith/ticks", { n: 1 })`))).toEqual([
        true,
        "unknown",
        expect.stringContaining("answered with HTTP status 415"),
        "the method streams, or the server does not support this codec",
      ]);
    });

    it("sends credentials", async () => {
      const url = await listen();
      await expect(connect(url, { credentials: "wrong" })).rejects.toThrow("sign in first");
      const page = await connect(url, { hash, credentials: "right" });
      expect(await page.evaluate(ticks(1))).toEqual([0]);
    });

    it("refuses URLs of other schemes and names of no methods, and sends no request for them", async () => {
      const page = await connect(`${await listen()}/`, { hash });
      const requests = `performance.getEntriesByType("resource").length`;
      const before = await page.evaluate(requests);
      for (const url of ["localhost:4433/rpc", "quic://127.0.0.1:4433", "wss://127.0.0.1:4433/rpc"]) {
        expect(await page.evaluate(`quicrpc.connect("${url}", { credentials: "a" }).catch(String)`)).toMatch(
          /^TypeError: connect takes a URL that begins with https:\/\/ or http:\/\/, not /,
        );
      }
      const refused = `quicrpc.connect("", { credential: "a" }).catch(String)`;
      expect(await page.evaluate(refused)).toBe("TypeError: connect has no option credential");
      for (const kind of ["call", "stream"]) {
        for (const name of ["../admin", "demo.v1.Arith/last/more", "demo.v1.Arith/last?a=1", "ping"]) {
          const seen = await page.evaluate(failure(`client.${kind}("${name}")`));
          expect(seen).toEqual([true, "invalid_argument", `${name} is not the name of a method`, ""]);
        }
      }
      expect(await page.evaluate(requests)).toBe(before);
      // The server's URL ended in a slash.
      expect(await page.evaluate(ticks(1))).toEqual([0]);
    });

    it.each(["file", "list"])("ends calls that wait for the second file or the list of methods: %s", async (silent) => {
      const interceptors: ServeOptions["interceptors"] = [
        async (call, next) => {
          if (call.method.service.name === "quicrpc.v1.Reflection") await once(call.signal as AbortSignal, "abort");
          return next(call);
        },
      ];
      const page = await connect(await listen(silent === "list" ? { interceptors } : {}), { hash });
      if (silent === "file") site.files.set("/quicrpc-session.js", { body: "", isSilent: true });
      const start = (options: string): string => failure(`client.stream("demo.v1.Arith/last", undefined, ${options})`);
      expect(await page.evaluate(start(`{ timeoutMs: 20 }`))).toEqual([
        true,
        "deadline_exceeded",
        "no answer within 20 ms",
        "",
      ]);
      const aborted = await page.evaluate(start(`{ signal: AbortSignal.abort() }`));
      expect(aborted).toEqual([true, "cancelled", expect.any(String), ""]);
      const closed = `(() => {
        const call = ${start("{}")};
        return client.close().then(() => call);
      })()`;
      expect(await page.evaluate(closed)).toEqual([true, "unavailable", "the client was closed", ""]);
    });

    it("gives up connecting to a server that does not answer", async () => {
      const silent = createServer();
      await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
      const { port } = silent.address() as AddressInfo;
      page = await browser.open(`${site.origin}/guide`);
      const connecting = failure(`quicrpc.connect("http://127.0.0.1:${port}/rpc", { timeoutMs: 20 })`);
      expect(await page.evaluate(connecting)).toEqual([true, "deadline_exceeded", "no answer within 20 ms", ""]);
      silent.close();
    });

    it("ends the calls of a session that is drained when it is closed", async () => {
      const page = await connect(await listen(), { hash });
      await page.evaluate(`(async () => {
        const items = await client.stream("test.v1.Behaviour/items", { n: 1, open: true });
        globalThis.items = items[Symbol.asyncIterator]();
        await globalThis.items.next();
      })()`);
      for (const session of (server as Server).sessions) session.drain().catch(() => {});
      await expect.poll(() => page.evaluate(failure(ticks(1)))).toEqual([0]);
      await page.evaluate(`client.close()`);
      expect(await page.evaluate(failure(`items.next()`))).toEqual([true, "unavailable", expect.any(String), ""]);
    });

    it("asks for the list of methods again after it has lost the session", async () => {
      const url = await listen({ routers: [createReflection([])] });
      const page = await connect(url, { hash });
      expect(await page.evaluate(failure(ticks(1)))).toContain("the server has no method demo.v1.Arith/ticks");
      await server?.close();
      await listen({ listen: [url] });
      await expect.poll(() => page.evaluate(failure(ticks(1)))).toEqual([0]);
    });

    it("is not a module", async () => {
      site.files.set("/module", {
        body: `<!doctype html><script>addEventListener("error", ({ message }) => (globalThis.seen = message))</script><script type="module" src="quicrpc.js"></script>`,
        type: "text/html",
      });
      page = await browser.open(`${site.origin}/module`);
      await expect.poll(() => page?.evaluate(`globalThis.seen`)).toMatch(/load quicrpc\.js with a classic script tag$/);
    });

    it("says what the server needs for streams", async () => {
      const page = await connect(await listen({ routers: [behaviourRouter(new Witness())] }), { hash });
      expect(await page.evaluate(failure(`client.stream("test.v1.Behaviour/items", { n: 1 })`))).toEqual([
        true,
        "unimplemented",
        expect.stringMatching(/^reflection failed: /),
        "mount createReflection(routers) of @quicrpc/services, and permit this client to call it",
      ]);
    });
  });
});
