// Bundles the packages whose `exports` have a condition `node`: from dist/ into bundle/, one file for each entry and
// for the code that entries share. Node starts faster with few files than with hundreds; pages use the single files, so
// that their bundlers can leave out unused ones. Run by npm run build, and before tests and benches.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const ours = join(dirname(dirname(fileURLToPath(import.meta.url))), "packages");

/** Writes the bundles that are missing or out of date. */
export async function bundleForNode(packages = ours) {
  await Promise.all(readdirSync(packages).map((name) => bundlePackage(join(packages, name))));
}

async function bundlePackage(folder) {
  const manifest = join(folder, "package.json");
  if (!existsSync(manifest)) return;
  const exported = Object.values(JSON.parse(readFileSync(manifest, "utf8")).exports ?? {});
  const entries = exported.filter(({ node }) => node !== undefined);
  if (entries.length === 0) return;
  const bundle = await rolldown({
    cwd: folder,
    // If an entry has another form for development builds, which checks option names, Node always uses that form.
    input: Object.fromEntries(entries.map((entry) => [nameOf(entry.node), entry.development ?? entry.default])),
    platform: "node",
    // Other packages are modules of their own, which applications share.
    external: (id) => !/^[./]/.test(id),
    plugins: [tracedToSources],
    // In a page the module is one that may come later; here an entry has it.
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await bundle.generate({
    format: "esm",
    chunkFileNames: "shared-[hash].js",
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: { legal: false, jsdoc: false, annotation: false },
  });
  await bundle.close();
  write(join(folder, "bundle"), output);
}

/** Has the bundles' maps lead to src/, as those of dist/ do. */
const tracedToSources = {
  name: "traced-to-sources",
  load(id) {
    if (!existsSync(`${id}.map`)) return undefined;
    return { code: readFileSync(id, "utf8"), map: JSON.parse(readFileSync(`${id}.map`, "utf8")) };
  },
};

const nameOf = (path) => path.replace(/^\.\/bundle\//, "").replace(/\.js$/, "");

/** Touches no file that is as it should be. */
function write(folder, output) {
  const files = new Map(output.map(({ fileName, code, source }) => [join(folder, fileName), code ?? source]));
  for (const [path, text] of files) {
    if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = resolve(file.parentPath, file.name);
    if (file.isFile() && !files.has(path)) rmSync(path);
  }
}

/** By this name vitest runs it before any test. */
export function setup() {
  return bundleForNode();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleForNode();
