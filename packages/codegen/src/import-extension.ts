import type { ts } from "ts-morph";
import type { ImportExtension } from "./print/imports.js";

/** The extension that compiler options ask for in imports of TypeScript files: `ts` where they allow that. */
export function importExtensionOf(options: ts.CompilerOptions): ImportExtension {
  const { allowImportingTsExtensions, rewriteRelativeImportExtensions } = options;
  return allowImportingTsExtensions === true || rewriteRelativeImportExtensions === true ? "ts" : "js";
}
