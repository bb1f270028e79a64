import { Endpoint, type Http3Session, WebTransportError } from "@quicrpc/quic";
import type { Browser } from "playwright-core";
import { launchChromium, openPage } from "../../packages/quic/test/chromium.js";
import { type Outcome, timeLimited } from "./outcome.js";
import { type Client, scenarios, type Session } from "./scenarios.js";
import { ALPN } from "./server.js";

export type Mode = "quic" | "webtransport";

/** Runs scenarios and tells how each went. */
export type Runner = (names: readonly string[], report: (name: string, outcome: Outcome) => void) => Promise<void>;

/** `@quicrpc/quic` as the client of a server on `port`. Scenario "hash" pins the certificate, others trust the authority. */
export function engineClient(port: number, mode: Mode, trust: { ca: string; hash: Uint8Array }): Runner {
  return async (names, report) => {
    for (const name of names) {
      const endpoint = Endpoint.bind({ host: "127.0.0.1" });
      let http3: Promise<Http3Session> | undefined;
      const client: Client = {
        tellsStatus: true,
        failure: (streamErrorCode) => new WebTransportError("", { streamErrorCode }),
        async post(body, sum) {
          http3 ??= endpoint.connectHttp3(`https://127.0.0.1:${port}`, {
            serverName: "localhost",
            tls: { ca: trust.ca },
          });
          const request = (await http3).request({ method: "POST", path: "/requests" });
          request.write(body);
          request.end({ "x-sum": sum });
          const all = new Uint8Array(await new Response(request.readable).arrayBuffer());
          return { body: all, sum: new Map(await request.trailers).get("x-sum") };
        },
        async connect(path, { wrongHash = false } = {}): Promise<Session> {
          const value = wrongHash ? new Uint8Array(32) : trust.hash;
          const tls =
            name === "hash"
              ? { serverCertificateHashes: [{ algorithm: "sha-256" as const, value }] }
              : { ca: trust.ca };
          if (mode === "quic") {
            return endpoint.connect({ host: "127.0.0.1", serverName: "localhost", port, alpn: [ALPN], tls });
          }
          return endpoint.connectWebTransport(`https://127.0.0.1:${port}${path}`, { serverName: "localhost", tls });
        },
      };
      report(name, await timeLimited((scenarios[name] as (client: Client) => Promise<void>)(client)));
      await endpoint.close();
    }
  };
}

/** A page in Chromium as the client of a server on `port`. */
export function chromiumClient(executablePath: string, port: number, hash: Uint8Array, script: string): Runner {
  return async (names, report) => {
    const browser: Browser = await launchChromium(executablePath);
    try {
      const { page, close } = await openPage(browser, { "/scenarios.js": script });
      const url = `https://127.0.0.1:${port}`;
      const client = `{
        tellsStatus: false,
        failure: (streamErrorCode) => new WebTransportError({ streamErrorCode }),
        async connect(path, { wrongHash = false } = {}) {
          const value = wrongHash ? new Uint8Array(32) : new Uint8Array(${JSON.stringify([...hash])});
          // Kept: a session that is garbage closes.
          const session = new WebTransport("${url}" + path, { serverCertificateHashes: [{ algorithm: "sha-256", value }] });
          (globalThis.kept ??= []).push(session);
          session.closed.catch(() => {});
          await session.ready;
          return session;
        },
      }`;
      for (const name of names) {
        const run = `import("/scenarios.js").then(({ scenarios }) => scenarios[${JSON.stringify(name)}](${client}))`;
        report(name, await timeLimited(page.evaluate(run)));
      }
      close();
    } finally {
      await browser.close();
    }
  };
}
