import type { ts as compiler } from "ts-morph";
import type { ImportExtension } from "./print/imports.js";
import { ts } from "./source/compiler.js";

/**
 * Returns the extension for imports of TypeScript files that the compiler options require: "ts" if they allow it.
 * Returns "none" if a bundler resolves imports and the compiler emits nothing, because some bundlers do not find a .ts
 * file by the name of a .js file.
 */
export function importExtensionOf(options: compiler.CompilerOptions): ImportExtension {
  const { allowImportingTsExtensions, rewriteRelativeImportExtensions, noEmit } = options;
  if (allowImportingTsExtensions === true || rewriteRelativeImportExtensions === true) return "ts";
  return noEmit === true && isForBundlers(options) ? "none" : "js";
}

function isForBundlers({ module, moduleResolution }: compiler.CompilerOptions): boolean {
  if (moduleResolution === undefined) return module === ts.ModuleKind.Preserve;
  return moduleResolution === ts.ModuleResolutionKind.Bundler;
}
