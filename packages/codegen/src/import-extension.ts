import type { ts as compiler } from "ts-morph";
import type { ImportExtension } from "./print/imports.js";
import { ts } from "./source/compiler.js";

/**
 * The extension that compiler options ask for in imports of TypeScript files: `ts` where they allow that; none where a
 * bundler resolves them and the compiler writes nothing, since not every bundler finds a .ts file by the name of a .js file.
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
