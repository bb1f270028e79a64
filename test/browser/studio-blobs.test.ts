// Blobs in the studio's page, in Chromium: files that are chosen or dropped, downloads, progress and cancelling, and schemas that change.
import { readFileSync } from "node:fs";
import type { Connection } from "@quicrpc/core";
import type { ReceivedBlob } from "@quicrpc/blobs";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { connect, serve, type Server } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { type RunningStudio, serveStudio } from "@quicrpc/studio/command";
import { blobCalls } from "@quicrpc/blobs/generated";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Chromium, executablePath } from "./chromium.js";
import { seriousFindings, studioPage } from "./studio-page.js";

const any = uncheckedCodec<unknown>();
const JSON_OBJECT = { type: "object", properties: {}, required: [] };
const FILE = { "x-quicrpc-type": "blob" };
/** As generated code has it. */
const tooling = (method: string, docs: string) => async () => ({
  snapshot: {},
  methods: {
    [method]: {
      docs,
      input: { type: "object", properties: { note: { type: "string" }, file: FILE }, required: ["note", "file"] },
      output: JSON_OBJECT,
    },
  },
});
const service = { name: "demo.v1.Files", id: 322, tooling: tooling("put", "Keeps a file.") };
const blobs = blobCalls({ input: [{ name: "file", maxBytes: 3_000_000 }] });
const methods = {
  put: defineMethod(service, "unary", "put", { id: 1, input: any, output: any, blobs }),
  get: defineMethod(service, "unary", "get", {
    id: 2,
    input: any,
    output: any,
    blobs: blobCalls({ output: [{ name: "file" }] }),
  }),
};
const content = new Uint8Array(2_500_000).map((_, i) => i % 251);

describe.skipIf(executablePath === undefined)("blobs in the studio", () => {
  let chromium: Chromium;
  let server: Server;
  let connection: Connection;
  let running: RunningStudio;
  const problems: string[] = [];
  /** A download gives this many bytes, and then nothing until somebody ends it. */
  let stopsAt = Infinity;
  /** An upload is not read before this is done. */
  let gate = Promise.resolve();

  const router = createRouter(methods, {
    put: async (input) => {
      const { note, file } = input as { note: string; file: ReceivedBlob };
      await gate;
      const bytes = await file.bytes();
      return { note, name: file.name, same: Buffer.compare(bytes, content) === 0 };
    },
    get: () => ({
      file: {
        name: "../lake.jpg",
        length: content.length,
        content: async function* () {
          for (let at = 0; at < content.length; at += 100_000) {
            if (at >= stopsAt) await new Promise<never>(() => {});
            yield content.subarray(at, at + 100_000);
          }
        },
      },
    }),
  });

  beforeAll(async () => {
    chromium = await Chromium.launch();
    server = await serve({ listen: "tcp://127.0.0.1:0", routers: [router, createReflection([router])] });
    connection = await connect(server.urls[0] as string);
    running = await serveStudio({ connection, target: "tcp://shop.example:4433" });
  }, 60_000);
  afterAll(async () => {
    await running?.close();
    await connection?.close();
    await server?.close();
    await chromium?.close();
  });

  const opened = (method: string, url: string = running.url): Promise<Page> => {
    problems.length = 0;
    return studioPage(chromium, { url, method, problems });
  };
  const file = { name: "lake.jpg", mimeType: "image/jpeg", buffer: Buffer.from(content) };

  it("a file that is chosen is sent beside what is typed, and says how far it is", { timeout: 60_000 }, async () => {
    const page = await opened("put");
    await page.getByLabel("file, a file").setInputFiles(file);
    await page.getByText("lake.jpg, 2500000 bytes.").waitFor();
    await page.getByRole("textbox", { name: "note" }).fill("from the form");
    // What is typed has no place for the file, and nothing is missing in it.
    expect(await page.getByRole("textbox", { name: "Message as JSON" }).innerText()).not.toContain("file");
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByText('"same":true').or(page.getByText('"same": true')).first().waitFor();
    await page.getByText("2500000 of 2500000 bytes").waitFor();
    await page.getByRole("tab", { name: "Timing" }).click();
    const sent = page.getByRole("row", { name: "Files, 2500000 bytes" }).first();
    expect(await sent.innerText()).toMatch(/\d ms$/);
    expect(await seriousFindings(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it("a file that is dropped is taken, and one that is too large is said to be", { timeout: 60_000 }, async () => {
    const page = await opened("put");
    const drop = async (bytes: number): Promise<void> => {
      const data = await page.evaluateHandle((length) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(length)], "dropped.bin"));
        return transfer;
      }, bytes);
      await page.locator("fieldset.drop").first().dispatchEvent("drop", { dataTransfer: data });
    };
    await drop(10);
    await page.getByText("dropped.bin, 10 bytes.").waitFor();
    await drop(3_000_001);
    await page.getByText("The server will refuse it.").waitFor();
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByRole("alert").getByText("resource_exhausted").waitFor();
    await page.close();
  });

  it("an upload is cancelled with its call", { timeout: 60_000 }, async () => {
    let open = (): void => {};
    gate = new Promise((resolve) => (open = resolve));
    const page = await opened("put");
    await page.getByLabel("file, a file").setInputFiles(file);
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("status").getByText("cancelled").waitFor();
    open();
    await page.close();
  });

  it("an answer's blob is downloaded as a file of its own name, with no path", { timeout: 60_000 }, async () => {
    const page = await opened("get");
    await page.getByRole("button", { name: "Call" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download file" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("lake.jpg");
    expect(Buffer.compare(readFileSync(await download.path()), content)).toBe(0);
    await page.getByText("2500000 of 2500000 bytes").waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it("a download is cancelled, and may be begun again", { timeout: 60_000 }, async () => {
    stopsAt = 500_000;
    const page = await opened("get");
    await page.getByRole("button", { name: "Call" }).click();
    await page.getByRole("button", { name: "Download file" }).click();
    await page.getByText("500000 of 2500000 bytes").waitFor();
    await page.getByRole("button", { name: "Cancel file" }).click();
    await page.getByRole("alert").getByText("cancelled").waitFor();
    stopsAt = Infinity;
    await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download file" }).click()]);
    await page.close();
  });

  it("a page shows schemas that change, and keeps what was typed", { timeout: 60_000 }, async () => {
    const described = (docs: string) => {
      const its = { ...service, tooling: tooling("put", docs) };
      const put = defineMethod(its, "unary", "put", { id: 1, input: any, output: any, blobs });
      return createReflection([createRouter({ put }, { put: () => ({}) })]);
    };
    const changing = await serveStudio({ connection, target: "tcp://a.example:1", reflection: described("Before.") });
    const page = await opened("put", changing.url);
    await page.getByText("Before.").waitFor();
    await page.getByRole("textbox", { name: "note" }).fill("typed");
    changing.describeBy(described("After."));
    await page.getByText("After.").waitFor();
    expect(await page.getByRole("textbox", { name: "note" }).inputValue()).toBe("typed");
    expect(problems).toEqual([]);
    await page.close();
    await changing.close();
  });
});
