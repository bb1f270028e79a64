import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";

/** A browser of the system; `QUICRPC_CHROMIUM` names another one. */
export const executablePath: string | undefined = [
  process.env["QUICRPC_CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
].find((path) => path !== "" && existsSync(path));

if (executablePath === undefined) {
  console.log("skipped: quicrpc in a browser, since no Chromium is installed (QUICRPC_CHROMIUM=<path>)");
}

/** A headless Chromium, and an empty page on this machine: a secure context that may connect to it. */
export class Chromium {
  private readonly browser: Browser;
  private readonly site: Server = createServer(({ url }, response) => {
    if (url === "/strict.js") response.setHeader("content-type", "text/javascript").end(this.script);
    else if (url !== "/strict") response.setHeader("content-type", "text/html").end("<!doctype html>");
    else {
      response.setHeader("content-security-policy", "script-src 'self'").setHeader("content-type", "text/html");
      response.end("<!doctype html><script src=/strict.js></script>");
    }
  });
  /** What the strict page runs. */
  private script = "";

  private constructor(browser: Browser) {
    this.browser = browser;
  }

  static async launch(): Promise<Chromium> {
    const browser = await chromium.launch({ executablePath: executablePath as string, args: ["--no-sandbox"] });
    const made = new Chromium(browser);
    await new Promise<void>((listening) => made.site.listen(0, "127.0.0.1", listening));
    return made;
  }

  /** Trusts every certificate of a WebSocket, since no hash can be given for one; WebTransport is as strict as ever. */
  async open(): Promise<Page> {
    const page = await this.browser.newPage({ ignoreHTTPSErrors: true });
    await page.goto(`http://127.0.0.1:${(this.site.address() as AddressInfo).port}`);
    return page;
  }

  /** A page that runs one script, and no code that is made at run time (Content Security Policy 3). */
  async openStrict(script: string): Promise<Page> {
    this.script = script;
    const page = await this.browser.newPage({ ignoreHTTPSErrors: true });
    await page.goto(`http://127.0.0.1:${(this.site.address() as AddressInfo).port}/strict`);
    return page;
  }

  async close(): Promise<void> {
    await this.browser.close();
    this.site.close();
  }
}
