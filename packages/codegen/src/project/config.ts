import type { ImportExtension } from "../print/imports.js";
import type { Target } from "../print/service.js";

/** The schema modules of a project that names none. */
export const DEFAULT_PATTERN = "**/*.service.ts";

/** Default export of `quicrpc.config.ts`. Paths start from the file's own directory; options of the command win. */
export interface Config {
  /** The schema modules, as paths or globs. Default: every `*.service.ts` outside of `node_modules` and `dist`. */
  readonly include?: string | readonly string[];
  /** Globs to leave out. Default: none. */
  readonly exclude?: string | readonly string[];
  /** Where generated files go. Default: `generated` beside each schema module. */
  readonly out?: string;
  /** How generated files name the modules they import. Default: what the nearest tsconfig.json allows. */
  readonly importExtension?: ImportExtension;
  /** Which side the files are for. Default: both. */
  readonly target?: Target;
  /** Whether codecs say where and why a message does not fit, for which they need its shape at run time. Default true. */
  readonly explain?: boolean;
  /** Whether comments of generated code link to the schema, where that is in the same package. Default: true, unless `target` is a client, whose types are then checked without the schema's. */
  readonly links?: boolean;
  /** A Markdown reference of the services to write. Default: none. */
  readonly docs?: string;
  /** An AsyncAPI 3 document of the services to write. Default: none. */
  readonly asyncapi?: string;
  /** An OpenAPI 3.1 document of the services over HTTP to write. Default: none. */
  readonly openapi?: string;
  /** The lock file, or false for none. Default: `quicrpc.lock.json` beside this file. */
  readonly lock?: string | false;
}

/** Gives `config` back: it is there for its type. */
export function defineConfig(config: Config): Config {
  return config;
}
