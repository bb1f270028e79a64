import { existsSync } from "node:fs";

/** A browser of the system; `QUICRPC_CHROMIUM` names another one. */
export function findChromium(): string | undefined {
  return [
    process.env["QUICRPC_CHROMIUM"] ?? "",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  ].find((path) => path !== "" && existsSync(path));
}
