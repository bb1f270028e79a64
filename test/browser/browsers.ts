import { Chromium, executablePath } from "./chromium.js";
import { Firefox, firefoxPath } from "./firefox.js";

/** A page that a browser has opened. */
export interface Opened {
  evaluate(expression: string): Promise<unknown>;
  close(): Promise<unknown>;
}

/** A browser that opens pages by their URLs. */
export interface Browser {
  open(url: string): Promise<Opened>;
  close(): Promise<unknown>;
}

/** Every browser. It trusts every certificate, except over WebTransport. Its program's path if it is installed, and the function that starts it. */
export const BROWSERS: readonly (readonly [
  name: string,
  path: string | undefined,
  launch: (path: string) => Promise<Browser>,
])[] = [
  ["Chromium", executablePath, launchChromium],
  ["Firefox", firefoxPath, (path) => Firefox.launch(path)],
];

async function launchChromium(): Promise<Browser> {
  const chromium = await Chromium.launch();
  return {
    async open(url) {
      const page = await chromium.browser.newPage({ ignoreHTTPSErrors: true });
      await page.goto(url);
      return page;
    },
    close: () => chromium.close(),
  };
}
