import type { Browser, LaunchOptions, Page } from "playwright-core";
import { chromiumPath, launchChromium } from "../../packages/quic/test/chromium.js";
import { type File, Site } from "./site.js";

/** Path of the system's Chromium; undefined if there is none. */
export const executablePath: string | undefined = chromiumPath;

if (executablePath === undefined) {
  console.log("skipped: quicrpc in a browser, since no Chromium is installed (QUICRPC_CHROMIUM=<path>)");
}

/** A headless Chromium, and a site on this machine: a secure context whose pages may connect to it. */
export class Chromium {
  readonly browser: Browser;
  private readonly site: Site;

  private constructor(browser: Browser, site: Site) {
    this.browser = browser;
    this.site = site;
  }

  static async launch(options?: LaunchOptions): Promise<Chromium> {
    const browser = await launchChromium(executablePath as string, options);
    return new Chromium(browser, await Site.start());
  }

  /** The address of the site's file at `path`. */
  url(path: string): string {
    return new URL(path, this.site.origin).href;
  }

  /** Puts a file on the site. */
  put(path: string, file: File): void {
    this.site.files.set(path, file);
  }

  /**
   * A page of the site, by default an empty one. It trusts every certificate of a WebSocket, since no hash can be given for
   * one; WebTransport is as strict as ever.
   *
   * @param functions of this process, that the page finds among its globals
   */
  async open(
    path: string = "/",
    functions: Readonly<Record<string, (...given: never[]) => unknown>> = {},
  ): Promise<Page> {
    const page = await this.browser.newPage({ ignoreHTTPSErrors: true });
    for (const [name, call] of Object.entries(functions)) await page.exposeFunction(name, call);
    await page.goto(this.url(path));
    return page;
  }

  /** A page that runs one script, and no code that is made at run time (Content Security Policy 3). */
  openStrict(script: string): Promise<Page> {
    const headers = { "content-security-policy": "script-src 'self'" };
    this.put("/strict.js", { body: script });
    this.put("/strict", { body: "<!doctype html><script src=/strict.js></script>", type: "text/html", headers });
    return this.open("/strict");
  }

  async close(): Promise<void> {
    await this.browser.close();
    this.site.close();
  }
}
