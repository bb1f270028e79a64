// A file that a person chooses in a page, to a handler and back.
import { createHash, randomBytes } from "node:crypto";
import type { Session } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { devCertificate, serve, type Server } from "@quicrpc/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "./bundle.js";
import { Chromium, executablePath } from "./chromium.js";
import { methods } from "./page/blobs.js";

describe.skipIf(executablePath === undefined)("blobs of a page", () => {
  let chromium: Chromium;
  let script: string;
  let server: Server;
  let hash: Uint8Array;
  /** Chunks of each upload, by its id. */
  const parts = new Map<string | undefined, Uint8Array[]>();
  let entered = 0;
  const sessions = new Set<Session>();
  const bytes = randomBytes(5_000_000);
  const sha256 = createHash("sha256").update(bytes).digest("hex");

  beforeAll(async () => {
    script = await bundle(`import "./browser/page/blobs.js";`);
    chromium = await Chromium.launch();
    const certificate = await devCertificate();
    hash = certificate.hash.value;
    const router = createRouter(methods, {
      async upload({ note, file }) {
        const part = parts.get(file.id) ?? [];
        parts.set(file.id, part);
        entered++;
        const before = Buffer.concat(part);
        let taken = before.length;
        const after = (async function* () {
          yield before;
        })();
        for await (const chunk of file.chunks(before.length === 0 ? {} : { after })) {
          part.push(chunk);
          taken += chunk.length;
          // Twice, after a quarter of the file each.
          if (taken > (bytes.length * entered) / 4 && entered < 3) {
            for (const session of sessions) void session.close({ closeCode: 9 });
            break;
          }
        }
        const digest = createHash("sha256").update(Buffer.concat(part));
        return [note, file.name, file.type, file.length, digest.digest("hex")].join(" ");
      },
      download: (n) => ({ note: "", file: { content: new Blob([bytes.subarray(0, n)]), name: "a.bin" } }),
    });
    const { cert, key } = certificate;
    const listen = ["https://127.0.0.1:0/rpc"];
    server = await serve({
      listen,
      webSocket: true,
      tls: { cert, key },
      routers: [router],
      allowedOrigins: () => true,
      advanced: { onSession: (session) => void sessions.add(session) },
    });
  }, 60_000);
  afterAll(async () => {
    await chromium?.close();
    await server?.close();
  });

  it.each([
    ["WebTransport", false],
    ["a WebSocket", true],
  ])("go over %s, with progress, on over two sessions that are lost, and come back", async (_, webSocket) => {
    parts.clear();
    entered = 0;
    const page = await chromium.open();
    await page.addScriptTag({ content: script });
    await page.evaluate(`start(${JSON.stringify(server.urls[0])}, ${JSON.stringify([...hash])}, ${webSocket})`);
    await page.setInputFiles("input", { name: "ä.bin", mimeType: "application/x-test", buffer: bytes });
    await page.waitForFunction(`document.querySelector("output").value !== ""`);
    expect(await page.evaluate(`document.querySelector("output").value`)).toBe(
      `7 ä.bin application/x-test ${bytes.length} ${sha256}`,
    );
    expect({ entered, uploads: parts.size }).toEqual({ entered: 3, uploads: 1 });
    expect(await page.evaluate(`document.querySelector("progress").position`)).toBe(1);
    expect(await page.evaluate(`download(${bytes.length})`)).toEqual({ name: "a.bin", sha256 });
    await page.close();
  });
});
