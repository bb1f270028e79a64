import type { ImportExtension } from "../print/imports.js";
import type { Target } from "../print/service.js";

/** Pattern for schema modules in a project without a configuration. */
export const DEFAULT_PATTERN = "**/*.service.ts";

/** Default export of `quicrpc.config.ts`. Paths are relative to its directory. Command-line options have precedence. */
export interface Config {
  /** The schema modules, as paths or globs. Default: every `*.service.ts` outside `node_modules` and `dist`. */
  readonly include?: string | readonly string[];
  /** Globs to exclude. Default: none. */
  readonly exclude?: string | readonly string[];
  /** Directory for generated files. Default: `generated` next to each schema module. */
  readonly out?: string;
  /** How imports in generated files name modules. Default: determined by the nearest tsconfig.json. */
  readonly importExtension?: ImportExtension;
  /** The side for which code is generated. Default: both. */
  readonly target?: Target;
  /**
   * True if codecs explain where and why a message does not match, for which they need its shape at run time. Default:
   * true.
   */
  readonly explain?: boolean;
  /**
   * True if comments in generated code link to the schema, if that is in the same package. Default: true, unless
   * `target` is a client: its code is then type-checked without the schema.
   */
  readonly links?: boolean;
  /** File for a Markdown reference of the services. Default: none. */
  readonly docs?: string;
  /** File for an OpenAPI 3.1 document of the services over HTTP. Default: none. */
  readonly openapi?: string;
  /** Directory for `.proto` files of the services. Default: none. */
  readonly proto?: string;
  /** Path of the lock file; false for none. Default: `quicrpc.lock.json` next to the configuration. */
  readonly lock?: string | false;
}

/** Returns `config` unchanged. Used in `quicrpc.config.ts`, so that the configuration is type-checked. */
export function defineConfig(config: Config): Config {
  return config;
}
