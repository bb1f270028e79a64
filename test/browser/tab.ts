import { type BrowserCommand, BrowserProcess } from "./browser-process.js";

/**
 * One tab of a Chromium that is driven by the DevTools protocol alone. Playwright keeps every page visible and out of the
 * cache, so that none ever sleeps or comes back.
 */
export class Tab {
  private readonly browser: BrowserProcess;
  private readonly targetId: string;
  private readonly sessionId: string;

  private constructor(browser: BrowserProcess, targetId: string, sessionId: string) {
    this.browser = browser;
    this.targetId = targetId;
    this.sessionId = sessionId;
  }

  static async open(executablePath: string, url: string, prepare?: BrowserCommand["prepare"]): Promise<Tab> {
    const browser = await BrowserProcess.start({
      executablePath,
      options: (profile) => [
        "--headless=new",
        "--no-sandbox",
        "--remote-debugging-port=0",
        `--user-data-dir=${profile}`,
        "about:blank",
      ],
      path: "",
      prepare,
    });
    const created = await browser.send("Target.createTarget", { url: "about:blank" });
    const { targetId } = created as { targetId: string };
    const attached = await browser.send("Target.attachToTarget", { targetId, flatten: true });
    const { sessionId } = attached as { sessionId: string };
    const tab = new Tab(browser, targetId, sessionId);
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

  /** Hides the tab behind another. */
  async hide(): Promise<void> {
    const { targetId } = await this.send<{ targetId: string }>("Target.createTarget", { url: "about:blank" });
    await this.send("Target.activateTarget", { targetId });
    await this.evaluate(
      `new Promise((hidden) => document.hidden ? hidden() : document.addEventListener("visibilitychange", () => hidden()))`,
    );
  }

  /** Hides the tab and freezes it: nothing runs there (Page Lifecycle). */
  async sleep(): Promise<void> {
    await this.hide();
    await this.send("Page.setWebLifecycleState", { state: "frozen" });
  }

  async wake(): Promise<void> {
    await this.send("Page.setWebLifecycleState", { state: "active" });
    await this.send("Target.activateTarget", { targetId: this.targetId });
  }

  async send<Result>(method: string, params: object): Promise<Result> {
    return (await this.browser.send(method, params, { sessionId: this.sessionId })) as Result;
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}
