import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, devCertificate } from "@quicrpc/node";
import type { UIMessage } from "ai";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { AssistantPage } from "./assistant-page.js";
import { type AssistantClient, createAssistantClient } from "./generated/assistant.js";
import { programOn } from "./program.js";

const WORDS = "Each word of this answer comes once and in its order.".split(" ");

it("loses no word of an answer when its server is killed and its page is reloaded", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "quicrpc-assistant-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { hash } = await devCertificate();
  const port = await freePort();
  const program = await programOn(port, "assistant-program.ts");
  const url = `quic://localhost:${port}`;
  let server!: ChildProcessWithoutNullStreams;

  async function start(): Promise<void> {
    server = spawn(process.execPath, [program, url, folder, ...WORDS]);
    const [output] = (await once(server.stdout, "data")) as [Buffer];
    expect(String(output)).toBe("ready\n");
  }
  async function kill(): Promise<void> {
    server.kill("SIGKILL");
    await once(server, "exit");
  }
  /** Lets the model write words, and waits until the page has so many. */
  async function write(count: number, page: AssistantPage, upTo: number): Promise<void> {
    server.stdin.write("\n".repeat(count));
    await expect.poll(() => page.texts[1]?.trim()).toBe(WORDS.slice(0, upTo).join(" "));
  }
  async function open(): Promise<AssistantClient> {
    const connection = await connect(url, { credentials: "ann", serverCertificateHashes: [hash] });
    onTestFinished(async () => void (await connection.close()));
    return createAssistantClient(connection);
  }

  await start();
  onTestFinished(kill);
  let page = new AssistantPage(await open(), []);
  void page.sendMessage({ text: "What comes?" });
  await write(3, page, 3);

  // The page connects to the next server.
  await kill();
  await start();
  await write(2, page, 5);

  // So does a page that is loaded again meanwhile. The file ends in half a line.
  await kill();
  appendFileSync(join(folder, "ann,c1.jsonl"), '{"type":"text-del');
  await start();
  const assistant = await open();
  page = new AssistantPage(assistant, (await assistant.history({ chat: "c1" })) as UIMessage[]);
  expect(page.texts).toEqual(["What comes?"]);
  const resumed = page.resumeStream();
  await write(1, page, 6);
  server.stdin.write("\n".repeat(WORDS.length - 6));
  await resumed;
  expect(page.texts).toEqual(["What comes?", `${WORDS.join(" ")} `]);
  expect(page.status).toBe("ready");

  // An answer that is over comes again as a whole.
  const later = new AssistantPage(assistant, (await assistant.history({ chat: "c1" })) as UIMessage[]);
  await later.resumeStream();
  expect(later.texts).toEqual(page.texts);
});
