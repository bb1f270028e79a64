// Under which settings, and with which compilers, the files of this folder compile.

/**
 * Exact packages of the projects, in addition to this repository's. The bins of the compilers have the same name, so
 * they are started by path.
 */
export const compilers: Readonly<Record<string, string>> = {
  "typescript-5.4": "npm:typescript@5.4.5",
  "typescript-5.6": "npm:typescript@5.6.3",
  "typescript-5.9": "npm:typescript@5.9.3",
  "typescript-6": "npm:typescript@^6.0.3",
  "@tsconfig/node20": "20.1.10",
  "@tsconfig/node22": "22.0.6",
  "@tsconfig/node24": "24.0.5",
  "@tsconfig/vite-react": "8.1.1",
  "@types/node": "^24.0.0",
};

interface Settings {
  readonly extends?: string;
  readonly [option: string]: unknown;
}

interface Project {
  readonly compiler: string;
  /** Who writes such settings. */
  readonly name: string;
  readonly settings: Settings;
  readonly files: readonly string[];
}

const PAGE = ["page.ts"];
const SERVER = [...PAGE, "server.ts"];
/** ts-morph, which generates code, needs TypeScript 5.6. */
const BUILD = [...SERVER, "tools.ts"];
/** A package of schemas, whose declarations name what our functions return. */
const SCHEMAS = ["feed.service.ts"];

const NODE_20: Settings = { extends: "@tsconfig/node20/tsconfig.json" };
const PUBLISHED: Settings = { ...NODE_20, declaration: true };
const NODE_22: Settings = { extends: "@tsconfig/node22/tsconfig.json" };
const NODE_24: Settings = { extends: "@tsconfig/node24/tsconfig.json" };
/** Settings under which `require` of an ES module is supported. */
const COMMON_JS: Settings = { ...NODE_22, module: "nodenext", moduleResolution: "nodenext" };
const VITE: Settings = {
  extends: "@tsconfig/vite-react/tsconfig.json",
  types: [],
  strict: true,
  tsBuildInfoFile: undefined,
};
/** Settings that older versions of Vite wrote into projects, many of which still have them. */
const OLD_VITE: Settings = {
  target: "es2020",
  lib: ["ES2020", "DOM", "DOM.Iterable"],
  types: [],
  module: "esnext",
  moduleResolution: "bundler",
  isolatedModules: true,
  strict: true,
};
const NEXT: Settings = {
  target: "es2017",
  lib: ["dom", "dom.iterable", "esnext"],
  module: "esnext",
  moduleResolution: "bundler",
  esModuleInterop: true,
  isolatedModules: true,
  jsx: "preserve",
  strict: true,
};

export const projects: readonly Project[] = [
  { compiler: "typescript-5.4", name: "node20", settings: NODE_20, files: SERVER },
  { compiler: "typescript-5.4", name: "an old Vite", settings: OLD_VITE, files: PAGE },
  { compiler: "typescript-5.4", name: "a package of schemas", settings: PUBLISHED, files: SCHEMAS },
  { compiler: "typescript", name: "a package of schemas", settings: PUBLISHED, files: SCHEMAS },
  { compiler: "typescript-5.6", name: "node20", settings: NODE_20, files: BUILD },
  { compiler: "typescript-5.9", name: "node22", settings: NODE_22, files: SERVER },
  { compiler: "typescript-6", name: "Next", settings: NEXT, files: SERVER },
  { compiler: "typescript", name: "node20", settings: NODE_20, files: BUILD },
  { compiler: "typescript", name: "node24", settings: NODE_24, files: BUILD },
  { compiler: "typescript", name: "CommonJS", settings: COMMON_JS, files: ["required.cts"] },
  { compiler: "typescript", name: "Vite", settings: VITE, files: PAGE },
  { compiler: "typescript", name: "an old Vite", settings: OLD_VITE, files: PAGE },
  { compiler: "typescript", name: "Next", settings: NEXT, files: SERVER },
];
