import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ts as compiler } from "ts-morph";
import { ts } from "./source/compiler.js";

/**
 * Reads and caches compiler options: those of the nearest tsconfig.json above a file. They are empty if there is none,
 * or it cannot be read.
 */
export class TsConfigs {
  readonly #byDirectory = new Map<string, compiler.CompilerOptions>();

  optionsFor(file: string): compiler.CompilerOptions {
    return this.#optionsOf(dirname(file));
  }

  #optionsOf(directory: string): compiler.CompilerOptions {
    const known = this.#byDirectory.get(directory);
    if (known !== undefined) return known;
    const config = join(directory, "tsconfig.json");
    const parent = dirname(directory);
    const options = existsSync(config) ? readOptions(config) : parent === directory ? {} : this.#optionsOf(parent);
    this.#byDirectory.set(directory, options);
    return options;
  }
}

function readOptions(config: string): compiler.CompilerOptions {
  const parsed = ts.getParsedCommandLineOfConfigFile(config, undefined, {
    // The list of files is not needed, only the options.
    readDirectory: () => [],
    fileExists: existsSync,
    readFile: (path) => readFileSync(path, "utf8"),
    useCaseSensitiveFileNames: true,
    getCurrentDirectory: () => dirname(config),
    onUnRecoverableConfigFileDiagnostic: () => {},
  });
  return parsed?.options ?? {};
}
