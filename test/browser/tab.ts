import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";

interface Answer {
  readonly id?: number;
  readonly result?: Record<string, never>;
  readonly error?: { readonly message: string };
}

/**
 * One tab of a Chromium that is driven by the DevTools protocol alone. Playwright keeps every page visible and out of the
 * cache, so that none ever sleeps or comes back.
 */
export class Tab {
  private readonly browser: ChildProcess;
  private readonly profile: string;
  private readonly socket: WebSocket;
  private readonly waiting: Map<number, (answer: Answer) => void> = new Map();
  private count = 0;
  private targetId = "";
  private sessionId: string | undefined;

  private constructor(browser: ChildProcess, profile: string, socket: WebSocket) {
    this.browser = browser;
    this.profile = profile;
    this.socket = socket;
    socket.on("message", (data: Buffer) => {
      const answer = JSON.parse(data.toString()) as Answer;
      if (answer.id === undefined) return;
      this.waiting.get(answer.id)?.(answer);
      this.waiting.delete(answer.id);
    });
  }

  static async open(executablePath: string, url: string): Promise<Tab> {
    const profile = await mkdtemp(join(tmpdir(), "quicrpc-tab-"));
    const options = ["--headless=new", "--no-sandbox", "--remote-debugging-port=0", `--user-data-dir=${profile}`];
    const browser = spawn(executablePath, [...options, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
    const socket = new WebSocket(await debuggerOf(browser));
    await new Promise((opened) => socket.once("open", opened));
    const tab = new Tab(browser, profile, socket);
    const { targetId } = await tab.send<{ targetId: string }>("Target.createTarget", { url: "about:blank" });
    const attached = { targetId, flatten: true };
    const { sessionId } = await tab.send<{ sessionId: string }>("Target.attachToTarget", attached);
    tab.targetId = targetId;
    tab.sessionId = sessionId;
    // Answered once the page has taken the blank one's place: what is evaluated after it runs there.
    await tab.send("Page.navigate", { url });
    return tab;
  }

  /** The value, or what the promise fulfils with. */
  async evaluate(expression: string): Promise<unknown> {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.send<{
      result: { value?: unknown };
      exceptionDetails?: { exception?: { description?: string } };
    }>("Runtime.evaluate", options);
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description);
    return result.value;
  }

  /** Hides the tab behind another, and freezes it: nothing runs there (Page Lifecycle). */
  async sleep(): Promise<void> {
    const { targetId } = await this.send<{ targetId: string }>("Target.createTarget", { url: "about:blank" });
    await this.send("Target.activateTarget", { targetId });
    await this.evaluate(
      `new Promise((hidden) => document.hidden ? hidden() : document.addEventListener("visibilitychange", () => hidden()))`,
    );
    await this.send("Page.setWebLifecycleState", { state: "frozen" });
  }

  async wake(): Promise<void> {
    await this.send("Page.setWebLifecycleState", { state: "active" });
    await this.send("Target.activateTarget", { targetId: this.targetId });
  }

  async send<Result>(method: string, params: object): Promise<Result> {
    const id = ++this.count;
    const answer = new Promise<Answer>((answered) => this.waiting.set(id, answered));
    this.socket.send(JSON.stringify({ id, method, params, sessionId: this.sessionId }));
    const { result, error } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result as Result;
  }

  async close(): Promise<void> {
    this.socket.close();
    const ended = new Promise((exited) => this.browser.once("exit", exited));
    this.browser.kill();
    await ended;
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Where its browser takes commands; it says so on its error output. */
function debuggerOf(browser: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    browser.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const [url] = /ws:\/\/\S+/.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    });
    browser.once("exit", () => reject(new Error(`Chromium has ended: ${said}`)));
  });
}
