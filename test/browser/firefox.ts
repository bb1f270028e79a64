import { existsSync } from "node:fs";
import { type BrowserCommand, BrowserProcess } from "./browser-process.js";

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

/** Result of a script (WebDriver BiDi §7.6). */
type Evaluated =
  | { readonly type: "success"; readonly result: { readonly value?: string } }
  | { readonly type: "exception"; readonly exceptionDetails: { readonly text: string } };

/** Functions of a test that a page calls, by name. */
type Exposed = Readonly<Record<string, (...given: never[]) => unknown>>;

/** A page's call of such a function. */
interface ExposedCall {
  readonly id: number;
  readonly name: string;
  readonly given: never[];
}

/** A headless Firefox, driven by WebDriver BiDi: playwright-core drives builds of its own only, and puppeteer-core needs a later Node. */
export class Firefox {
  private readonly browser: BrowserProcess;
  private readonly tabs: Map<string, FirefoxTab> = new Map();

  private constructor(browser: BrowserProcess) {
    this.browser = browser;
    browser.onEvent = ({ method, params }) => {
      if (method !== "script.message") return;
      const { data, source } = params as { data: { value: string }; source: { context: string } };
      void this.tabs.get(source.context)?.called(JSON.parse(data.value) as ExposedCall);
    };
  }

  /** Trusts every certificate of a WebSocket, unless its profile is prepared to trust some. */
  static async launch(executablePath: string, prepare?: BrowserCommand["prepare"]): Promise<Firefox> {
    const browser = await BrowserProcess.start({
      executablePath,
      options: (profile) => ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"],
      path: "/session",
      prepare,
    });
    await browser.send("session.new", {
      capabilities: { alwaysMatch: { acceptInsecureCerts: prepare === undefined } },
    });
    await browser.send("session.subscribe", { events: ["script.message"] });
    return new Firefox(browser);
  }

  /** A new tab, with the page at `url`. */
  async open(url: string): Promise<FirefoxTab> {
    const { context } = (await this.browser.send("browsingContext.create", { type: "tab" })) as { context: string };
    const tab = new FirefoxTab(this.browser, context);
    this.tabs.set(context, tab);
    await tab.go(url);
    return tab;
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

/** One tab of a Firefox. */
export class FirefoxTab {
  private readonly browser: BrowserProcess;
  private readonly context: string;
  private exposed: Exposed = {};

  constructor(browser: BrowserProcess, context: string) {
    this.browser = browser;
    this.context = context;
  }

  async go(url: string): Promise<void> {
    await this.browser.send("browsingContext.navigate", { context: this.context, url, wait: "complete" });
  }

  /** Goes back to the page before, which Firefox may have kept. */
  async back(): Promise<void> {
    await this.browser.send("browsingContext.traverseHistory", { context: this.context, delta: -1 });
  }

  /** Returns the value of `expression`, or of its promise, by way of JSON. */
  async evaluate(expression: string): Promise<unknown> {
    const awaited = `(async () => JSON.stringify(await (${expression})))()`;
    return outcomeOf(await this.script("script.evaluate", { expression: awaited, awaitPromise: true }));
  }

  /** Runs a script, which need not be an expression. */
  async run(script: string): Promise<void> {
    outcomeOf(await this.script("script.evaluate", { expression: `${script};\n""`, awaitPromise: false }));
  }

  /** Makes functions of the test globals of the page, until it navigates. Values pass by way of JSON. */
  async expose(functions: Exposed): Promise<void> {
    this.exposed = functions;
    const declared = `(tell) => {
      const calls = new Map();
      let count = 0;
      globalThis.exposedAnswer = (id, error, value) => {
        const { resolve, reject } = calls.get(id);
        calls.delete(id);
        if (error === null) resolve(value); else reject(new Error(error));
      };
      for (const name of ${JSON.stringify(Object.keys(functions))}) {
        globalThis[name] = (...given) => new Promise((resolve, reject) => {
          const id = ++count;
          calls.set(id, { resolve, reject });
          // An argument that is not given is none, rather than null.
          while (given.length > 0 && given.at(-1) === undefined) given.pop();
          tell(JSON.stringify({ id, name, given }));
        });
      }
    }`;
    await this.script("script.callFunction", {
      functionDeclaration: declared,
      arguments: [{ type: "channel", value: { channel: "exposed" } }],
      awaitPromise: false,
    });
  }

  /** Answers a page's call of an exposed function. */
  async called({ id, name, given }: ExposedCall): Promise<void> {
    const [error, value] = await Promise.resolve()
      .then(() => this.exposed[name]?.(...given))
      .then(
        (value) => [null, value],
        (error: unknown) => [String(error), undefined],
      );
    // A tab that was closed in the meantime does not wait for an answer.
    await this.run(`exposedAnswer(${id}, ${JSON.stringify(error)}, ${JSON.stringify(value)})`).catch(() => {});
  }

  async close(): Promise<void> {
    await this.browser.send("browsingContext.close", { context: this.context });
  }

  private script(method: string, params: object): Promise<unknown> {
    return this.browser.send(method, { ...params, target: { context: this.context } });
  }
}

function outcomeOf(evaluated: unknown): unknown {
  const outcome = evaluated as Evaluated;
  if (outcome.type === "exception") throw new Error(outcome.exceptionDetails.text);
  return JSON.parse(outcome.result.value || "null");
}
