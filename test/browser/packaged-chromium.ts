import { findChromium } from "../../packages/quic/test/chromium-path.js";

/** A Chromium for Linux as an npm package. It is not a dependency, because it has 70 MB. */
const PACKAGE = "@sparticuz/chromium";

/**
 * Runs before any test: if the system has no browser and the package is installed, unpacks the package's once for all
 * tests.
 */
export default async function usePackagedChromium(): Promise<void> {
  if (findChromium() !== undefined) return;
  const found = (await import(PACKAGE).catch(absent)) as
    | { readonly default: { executablePath(): Promise<string> } }
    | undefined;
  if (found !== undefined) process.env["QUICRPC_CHROMIUM"] = await found.default.executablePath();
}

function absent(error: unknown): undefined {
  if ((error as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
}
