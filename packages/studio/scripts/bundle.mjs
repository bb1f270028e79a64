// Bundles the studio's page into dist/app: a script, a style and the licences of what is in them. Nothing of it is loaded from elsewhere.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { analyzeMetafile, build } from "esbuild";

const here = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const folder = here("dist/app");
mkdirSync(folder, { recursive: true });

const { metafile } = await build({
  entryPoints: [
    { in: here("src/page/main.tsx"), out: "app" },
    { in: here("src/page/style.css"), out: "app" },
  ],
  bundle: true,
  minify: true,
  format: "esm",
  platform: "browser",
  target: "es2023",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: folder,
  legalComments: "none",
  metafile: true,
  logLevel: "error",
});
if (process.argv.includes("--sizes")) console.log(await analyzeMetafile(metafile));

/** The folders of the packages that a bundle has parts of, by name. */
const packages = new Map();
for (const path of Object.keys(metafile.inputs)) {
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (name === undefined || packages.has(name)) continue;
  packages.set(name, path.slice(0, path.indexOf(name) + name.length));
}
const notices = Array.from(packages, ([name, path]) => `${name}\n\n${licenceOf(name, path)}`);
writeFileSync(join(folder, "LICENSES.txt"), notices.sort().join(`\n\n${"-".repeat(80)}\n\n`));

function licenceOf(name, path) {
  const root = existsSync(path) ? path : join(dirname(dirname(dirname(here("")))), path);
  const file = readdirSync(root).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no licence that can be passed on`);
  return readFileSync(join(root, file), "utf8").trim();
}
