// Redirects the addresses of guides in tests: a server for any name and port is served on loopback, and clients that
// connect to that name reach it there.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as browser from "@quicrpc/browser";
import type * as node from "@quicrpc/node";
import { onTestFinished } from "vitest";

type Node = typeof node;
type Browser = typeof browser;
type Targets = Parameters<Node["connectPool"]>[0];

const folder = mkdtempSync(join(tmpdir(), "quicrpc-guides-"));
/** URLs that this test serves. */
const served: string[] = [];

/** Returns the path, in a folder of the tests, of a file that a guide names. */
export function placed(path: string): string {
  return join(folder, path.replaceAll("/", "-"));
}

/** Returns true if targets are a list of URLs. */
function isList(targets: Targets | readonly string[]): targets is readonly string[] {
  return Array.isArray(targets);
}

/** Closes what a test has opened when the test ends, in reverse order. */
function kept<One extends { close(): unknown }>(one: One): One {
  onTestFinished(async () => void (await one.close()));
  return one;
}

function listening(url: string): string {
  if (url.startsWith("unix:")) return `unix:${placed(url.slice(5))}`;
  if (!url.includes("://")) return url;
  return url.replace(/:\/\/[^/]*/, "://127.0.0.1:0");
}

/** Returns the address of this test's server for a URL's scheme, or the URL itself if there is none. */
function reached(url: string): string {
  const scheme = url.slice(0, url.indexOf(":") + 1);
  return served.findLast((one) => one.startsWith(scheme)) ?? url;
}

/**
 * Returns `@quicrpc/node` with names that resolve to loopback: `vi.mock(import("@quicrpc/node"), async (actual) =>
 * nodeOnLoopback(await actual()))`
 */
export function nodeOnLoopback(actual: Node): Node {
  const trusting = async <Options extends object>(url: string, options: Options): Promise<Options> => {
    const secure = /^(quic|https|tls|wss):/.test(url);
    const { hash } = await actual.devCertificate();
    return secure ? { serverCertificateHashes: [hash], ...options } : options;
  };
  return {
    ...actual,
    serve: async (options: Parameters<Node["serve"]>[0]) => {
      const { listen = `quic://[::]:${options.port}`, port: _, ...rest } = options;
      const server = await actual.serve({ ...rest, listen: [listen].flat().map((url) => listening(String(url))) });
      served.push(...server.urls);
      return kept(server);
    },
    connect: async (url: string, options = {}) =>
      kept(await actual.connect(reached(url), await trusting(reached(url), options))),
    dial: async (url: string, options = {}) =>
      kept(await actual.dial(reached(url), await trusting(reached(url), options))),
    connectPool: async (targets: Targets, options = {}) => {
      // Targets that a pool finds are served by this test, and have their real URLs.
      const at = isList(targets) ? targets.map(reached) : targets;
      const first = isList(at) ? (at[0] ?? "") : "quic://found";
      return kept(await actual.connectPool(at, await trusting(first, options)));
    },
    watchTls: (
      server: Parameters<Node["watchTls"]>[0],
      { cert, key }: node.CertificateFiles,
      options: node.WatchTlsOptions,
    ) => {
      const stop = actual.watchTls(server, { cert: placed(cert), key: placed(key) }, { everyMs: 10, ...options });
      kept({ close: stop });
      return stop;
    },
  } as Node;
}

/** The same for `@quicrpc/browser`, which needs a `WebTransport` of the platform. */
export function pageOnLoopback(actual: Browser, certificate: () => Promise<{ readonly hash: object }>): Browser {
  const trusting = async <Options extends object>(options: Options): Promise<Options> => ({
    serverCertificateHashes: [(await certificate()).hash],
    ...options,
  });
  return {
    ...actual,
    connect: async (url: string, options = {}) => kept(await actual.connect(reached(url), await trusting(options))),
    dial: async (url: string, options = {}) => kept(await actual.dial(reached(url), await trusting(options))),
    connectWebTransport: async (url: string, options = {}) =>
      kept(await actual.connectWebTransport(reached(url), await trusting(options))),
  } as Browser;
}
