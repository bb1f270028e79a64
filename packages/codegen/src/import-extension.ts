import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ts } from "ts-morph";
import type { ImportExtension } from "./print/file.js";

/** The extension that the nearest tsconfig.json asks for in imports of TypeScript files: `ts` where it allows that. */
export function importExtensionFor(file: string): ImportExtension {
  const config = nearestConfig(dirname(file));
  if (config === undefined) return "js";
  const parsed = ts.getParsedCommandLineOfConfigFile(config, undefined, {
    // Only the options are wanted, not the files.
    readDirectory: () => [],
    fileExists: existsSync,
    readFile: (path) => readFileSync(path, "utf8"),
    useCaseSensitiveFileNames: true,
    getCurrentDirectory: () => dirname(config),
    onUnRecoverableConfigFileDiagnostic: () => {},
  });
  const { allowImportingTsExtensions, rewriteRelativeImportExtensions } = parsed?.options ?? {};
  return allowImportingTsExtensions === true || rewriteRelativeImportExtensions === true ? "ts" : "js";
}

function nearestConfig(directory: string): string | undefined {
  const config = join(directory, "tsconfig.json");
  if (existsSync(config)) return config;
  const parent = dirname(directory);
  return parent === directory ? undefined : nearestConfig(parent);
}
