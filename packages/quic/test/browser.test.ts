import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Endpoint, type WebTransportListenOptions, type WebTransportSession } from "../dist/index.js";
import { certificate, type TestCertificate } from "./certificates.js";
import { chromiumPath, launchChromium, openPage } from "./chromium.js";
import { bytes, deferred, onSessionEvents, onStreamEvents, readAll } from "./harness.js";

if (chromiumPath === undefined) {
  console.log("skipped: WebTransport from a browser, since no Chromium is installed (QUICRPC_CHROMIUM=<path>)");
}

describe.skipIf(chromiumPath === undefined)("a page in Chromium", () => {
  let browser: Browser;
  let page: Page;
  let origin: string;
  let closeSite: (() => void) | undefined;
  let pinned: TestCertificate;
  let server: Endpoint | undefined;

  beforeAll(async () => {
    pinned = await certificate();
    browser = await launchChromium(chromiumPath as string);
    ({ page, origin, close: closeSite } = await openPage(browser));
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    closeSite?.();
  });
  afterEach(() => server?.close());

  function serve(
    onSession: (session: WebTransportSession) => void,
    webTransport: WebTransportListenOptions = {},
  ): void {
    server = Endpoint.bind({ host: "127.0.0.1" });
    server.listen({ tls: pinned, webTransport }, (session) => onSession(session as WebTransportSession));
  }

  /** Runs `script` in the page, with `connect()` and the helpers below in scope. */
  function inPage<T>(script: string): Promise<T> {
    const url = `https://127.0.0.1:${server?.address.port}/page`;
    const setup = `
      const hash = new Uint8Array(${JSON.stringify([...pinned.hash])});
      const options = { serverCertificateHashes: [{ algorithm: "sha-256", value: hash }] };
      // Kept: a session that is garbage closes.
      const connect = () => (globalThis.kept = new WebTransport(${JSON.stringify(url)}, options));
      const text = async (readable) => {
        let all = "";
        for (const reader = readable.getReader(); ; ) {
          const { done, value } = await reader.read();
          if (done) return all;
          all += new TextDecoder().decode(value);
        }
      };
      const send = async (writable, words) => {
        const writer = writable.getWriter();
        await writer.write(new TextEncoder().encode(words));
        await writer.close();
      };
      // Chromium takes an object alone, the standard a message before it.
      const failed = (streamErrorCode) => new WebTransportError({ streamErrorCode });
      const first = async (streams) => (await streams.getReader().read()).value;
    `;
    return page.evaluate(`(async () => { ${setup} ${script} })()`) as Promise<T>;
  }

  test("connects by the certificate's hash and echoes streams of both kinds, keys from the hybrid group", async () => {
    const groups: string[] = [];
    serve((session) => {
      groups.push(session.stats().keyExchangeGroup);
      session.attach(
        onSessionEvents({
          onStream: (stream) =>
            stream.attach(
              onStreamEvents({
                onData: (chunk) => stream.write(chunk),
                onEnd: () => stream.write(new Uint8Array(0), true),
              }),
            ),
          onUniStream: (uni) => void readAll(uni).then((all) => session.openUniStream().write(all, true)),
        }),
      );
    });
    const seen = await inPage(`
      const transport = connect();
      await transport.ready;
      const bidi = await transport.createBidirectionalStream();
      await send(bidi.writable, "both ways");
      const echoed = await text(bidi.readable);
      await send(await transport.createUnidirectionalStream(), "one way");
      const returned = await text(await first(transport.incomingUnidirectionalStreams));
      transport.close();
      return [echoed, returned];
    `);
    expect(seen).toEqual(["both ways", "one way"]);
    expect(groups).toEqual(["X25519MLKEM768"]);
  });

  test("takes streams that the server opens, and a megabyte", async () => {
    const received = deferred<number>();
    serve((session) => {
      const stream = session.openStream();
      stream.write(new Uint8Array(1_000_000), true);
      void readAll(stream).then((all) => received.resolve(all.length), received.reject);
      session.attach(onSessionEvents({}));
    });
    const length = await inPage(
      `
      const transport = connect();
      const stream = await first(transport.incomingBidirectionalStreams);
      const all = (await text(stream.readable)).length;
      await send(stream.writable, "x".repeat(all / 2));
      return all;
    `,
    );
    expect(length).toBe(1_000_000);
    expect(await received.promise).toBe(500_000);
  });

  test("datagrams both ways", async () => {
    serve((session) => {
      session.attach(onSessionEvents({ onDatagram: (datagram) => void session.datagrams.send(datagram) }));
    });
    const echoed = await inPage(`
      const transport = connect();
      await transport.ready;
      const { datagrams } = transport;
      const writable = datagrams.writable ?? datagrams.createWritable();
      await writable.getWriter().write(new TextEncoder().encode("hello"));
      return new TextDecoder().decode(await first(datagrams.readable));
    `);
    expect(echoed).toBe("hello");
  });

  test("close codes and reasons, each way", async () => {
    const closed = deferred<unknown>();
    serve((session) => void session.closed.then(closed.resolve, closed.reject));
    await inPage(`
      const transport = connect();
      await transport.ready;
      transport.close({ closeCode: 4000000000, reason: "tschüß" });
    `);
    expect(await closed.promise).toEqual({ closeCode: 4_000_000_000, reason: "tschüß" });
    await server?.close();

    serve((session) => void setImmediate(() => session.close({ closeCode: 7, reason: "bye ✓" })));
    const info = await inPage(`
      const { closeCode, reason } = await connect().closed;
      return { closeCode, reason };
    `);
    expect(info).toEqual({ closeCode: 7, reason: "bye ✓" });
  });

  test("streams of a session that the server closes fail because of the session", async () => {
    serve((session) => {
      const closeIt = (): void => session.close({ closeCode: 7 });
      session.attach(onSessionEvents({ onStream: (stream) => stream.attach(onStreamEvents({ onData: closeIt })) }));
    });
    const sources = await inPage(`
      const sources = [];
      for (let i = 0; i < 20; i++) {
        const transport = connect();
        await transport.ready;
        const { readable, writable } = await transport.createBidirectionalStream();
        void writable.getWriter().write(new Uint8Array(1)).catch(() => {});
        sources.push(await readable.getReader().read().catch((error) => error.source));
      }
      return sources;
    `);
    expect(sources).toEqual(Array.from({ length: 20 }, () => "session"));
  });

  test("reset and stop-sending codes", async () => {
    const codes = deferred<number[]>();
    serve((session) => {
      const seen: number[] = [];
      const done = (code: number): void => {
        seen.push(code);
        if (seen.length === 2) codes.resolve(seen);
      };
      session.attach(
        onSessionEvents({
          onStream: (stream) => {
            // A reset overtakes what was written: the stream's first bytes must have arrived to tell its session.
            const answer = session.openUniStream();
            answer.write(bytes("x"));
            stream.attach(onStreamEvents({ onData: () => answer.reset(30), onReset: done, onStopSending: done }));
          },
        }),
      );
    });
    const code = await inPage(`
      const transport = connect();
      await transport.ready;
      const { readable, writable } = await transport.createBidirectionalStream();
      const writer = writable.getWriter();
      const reader = (await first(transport.incomingUnidirectionalStreams)).getReader();
      await reader.read();
      await writer.write(new Uint8Array(1));
      const failure = await reader.read().catch((error) => error);
      await writer.abort(failed(255)).catch(() => {});
      await readable.cancel(failed(31)).catch(() => {});
      return [failure.streamErrorCode, failure.source];
    `);
    expect(code).toEqual([30, "stream"]);
    expect((await codes.promise).sort((a, b) => a - b)).toEqual([31, 255]);
  });

  test("a refused request, and what the server saw of it", async () => {
    const origins: (string | undefined)[] = [];
    serve(() => {}, {
      onRequest: (request) => {
        origins.push(request.origin);
        return { status: 403 };
      },
    });
    const refused = await inPage(`return connect().ready.then(() => "open", (error) => error.name);`);
    expect(refused).toBe("WebTransportError");
    expect(origins).toEqual([origin]);
  });
});
