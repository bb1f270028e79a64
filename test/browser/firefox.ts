import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";

/** A Firefox of the system; `QUICRPC_FIREFOX` names another one. */
export const firefoxPath: string | undefined = [
  process.env["QUICRPC_FIREFOX"] ?? "",
  "/usr/bin/firefox-esr",
  "/usr/bin/firefox",
  "/Applications/Firefox.app/Contents/MacOS/firefox",
].find((path) => path !== "" && existsSync(path));

if (firefoxPath === undefined) {
  console.log("skipped: quicrpc in Firefox, since none is installed (QUICRPC_FIREFOX=<path>)");
}

interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly message?: string;
}

/** What a script comes to (WebDriver BiDi §7.6). */
type Evaluated =
  | { readonly type: "success"; readonly result: { readonly value?: string } }
  | { readonly type: "exception"; readonly exceptionDetails: { readonly text: string } };

/** A headless Firefox with one tab, driven by WebDriver BiDi: playwright-core drives builds of its own only. */
export class Firefox {
  private readonly browser: ChildProcess;
  private readonly profile: string;
  private readonly socket: WebSocket;
  private readonly waiting: Map<number, (answer: Answer) => void> = new Map();
  private count = 0;
  private context = "";

  private constructor(browser: ChildProcess, profile: string, socket: WebSocket) {
    this.browser = browser;
    this.profile = profile;
    this.socket = socket;
    socket.on("message", (data: Buffer) => {
      const answer = JSON.parse(data.toString()) as Answer;
      if (answer.id !== undefined) this.waiting.get(answer.id)?.(answer);
    });
  }

  /** Trusts every certificate of a WebSocket. */
  static async launch(executablePath: string): Promise<Firefox> {
    const profile = await mkdtemp(join(tmpdir(), "quicrpc-firefox-"));
    const options = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"];
    const browser = spawn(executablePath, options, {
      // It refuses a home that belongs to somebody else.
      env: { ...process.env, HOME: profile },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const socket = new WebSocket(`${await addressOf(browser)}/session`);
    await new Promise((opened) => socket.once("open", opened));
    const firefox = new Firefox(browser, profile, socket);
    await firefox.send("session.new", { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
    const { contexts } = (await firefox.send("browsingContext.getTree", {})) as { contexts: { context: string }[] };
    firefox.context = contexts[0]?.context as string;
    return firefox;
  }

  async open(url: string): Promise<void> {
    await this.send("browsingContext.navigate", { context: this.context, url, wait: "complete" });
  }

  /** What the promise of `expression` fulfils with, by way of JSON. */
  async evaluate(expression: string): Promise<unknown> {
    const given = { expression: `(${expression}).then(JSON.stringify)`, awaitPromise: true };
    const outcome = (await this.send("script.evaluate", { ...given, target: { context: this.context } })) as Evaluated;
    if (outcome.type === "exception") throw new Error(outcome.exceptionDetails.text);
    return JSON.parse(outcome.result.value ?? "null");
  }

  async close(): Promise<void> {
    this.socket.close();
    const ended = new Promise((exited) => this.browser.once("exit", exited));
    this.browser.kill();
    await ended;
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }

  private async send(method: string, params: object): Promise<unknown> {
    const id = ++this.count;
    const answer = new Promise<Answer>((answered) => this.waiting.set(id, answered));
    this.socket.send(JSON.stringify({ id, method, params }));
    const { result, error, message } = await answer;
    this.waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error}: ${message}`);
    return result;
  }
}

/** Where it takes commands; it says so on its error output. */
function addressOf(browser: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    browser.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const [url] = /ws:\/\/[^\s/]+/.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    });
    browser.once("exit", () => reject(new Error(`Firefox has ended: ${said}`)));
  });
}
