import { existsSync } from "node:fs";
import { BrowserProcess } from "./browser-process.js";

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

/** What a script comes to (WebDriver BiDi §7.6). */
type Evaluated =
  | { readonly type: "success"; readonly result: { readonly value?: string } }
  | { readonly type: "exception"; readonly exceptionDetails: { readonly text: string } };

/** A headless Firefox with one tab, driven by WebDriver BiDi: playwright-core drives builds of its own only. */
export class Firefox {
  private readonly browser: BrowserProcess;
  private readonly context: string;

  private constructor(browser: BrowserProcess, context: string) {
    this.browser = browser;
    this.context = context;
  }

  /** Trusts every certificate of a WebSocket. */
  static async launch(executablePath: string): Promise<Firefox> {
    const browser = await BrowserProcess.start({
      executablePath,
      options: (profile) => ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"],
      path: "/session",
    });
    await browser.send("session.new", { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
    const { contexts } = (await browser.send("browsingContext.getTree", {})) as { contexts: { context: string }[] };
    return new Firefox(browser, contexts[0]?.context as string);
  }

  async open(url: string): Promise<void> {
    await this.browser.send("browsingContext.navigate", { context: this.context, url, wait: "complete" });
  }

  /** What the promise of `expression` fulfils with, by way of JSON. */
  async evaluate(expression: string): Promise<unknown> {
    const given = { expression: `(${expression}).then(JSON.stringify)`, awaitPromise: true };
    const target = { target: { context: this.context } };
    const outcome = (await this.browser.send("script.evaluate", { ...given, ...target })) as Evaluated;
    if (outcome.type === "exception") throw new Error(outcome.exceptionDetails.text);
    return JSON.parse(outcome.result.value ?? "null");
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}
