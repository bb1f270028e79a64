import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Replaces the suite's Node modules by modules for a page. */
const inPage: Plugin = {
  name: "in-page",
  setup(build) {
    build.onResolve({ filter: /^vitest$/ }, () => ({ path: here("page/vitest.ts") }));
    build.onResolve({ filter: /\/kinds\.js$/ }, () => ({ path: here("page/kinds.ts") }));
    build.onResolve({ filter: /^@quicrpc\/node$/ }, () => ({ path: here("page/compressions.ts") }));
    build.onResolve({ filter: /^node:/ }, () => ({ path: here("page/node.ts") }));
  },
};

const behaviours = new Map<string, Promise<string>>();

/**
 * Bundles a file of behaviours as a script for a page, which exports `runAll` as a global. Made once, for all lanes.
 */
export function bundleBehaviours(file: string): Promise<string> {
  let made = behaviours.get(file);
  if (made === undefined) {
    made = bundle(`
      import { runAll } from "./browser/page/vitest.js";
      import "./behaviour/${file}.test.js";
      globalThis.runAll = runAll;
    `);
    behaviours.set(file, made);
  }
  return made;
}

/** A module in the folder `test` as a script for a page. */
export async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: here("..") },
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    logLevel: "error",
    inject: [here("page/node.ts")],
    plugins: [inPage],
  });
  return outputFiles[0]?.text as string;
}

/** A page's client as it is shipped, from the folder `test/size`: minified, as its size is told in docs/browsers.md. */
export async function bundleShipped(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [here(`../size/${file}`)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    logLevel: "error",
  });
  return outputFiles[0]?.text as string;
}
