// Writes the API reference, a page for each entry of a package, from the doc comments of what it exports.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Application, Converter, ReflectionKind } from "typedoc";
import { ROOT } from "./pages.mjs";

/** Each entry's name, as one imports it, by the path of its source. */
const entries = new Map();
for (const folder of readdirSync(`${ROOT}packages`)) {
  // A package that is gone leaves what was built of it.
  if (!existsSync(`${ROOT}packages/${folder}/package.json`)) continue;
  const { name, exports } = JSON.parse(readFileSync(`${ROOT}packages/${folder}/package.json`, "utf8"));
  for (const [path, { types }] of Object.entries(exports)) {
    if (types === undefined) continue;
    entries.set(types.replace("./dist/", `${folder}/src/`).replace(/\.d\.ts$/, ""), name + path.slice(1));
  }
}

/** Writes the pages into `site/api`; throws where TypeDoc fails. */
export async function writeApi() {
  const app = await Application.bootstrapWithPlugins({
    entryPoints: Array.from(entries.keys(), (source) => `${ROOT}packages/${source}.ts`),
    tsconfig: `${ROOT}tsconfig.base.json`,
    skipErrorChecking: true,
    plugin: ["typedoc-plugin-markdown"],
    router: "module",
    out: `${ROOT}site/api`,
    readme: "none",
    disableSources: true,
    hidePageHeader: true,
    useHTMLAnchors: true,
    hideBreadcrumbs: true,
    excludeInternal: true,
    parametersFormat: "table",
    propertiesFormat: "table",
    logLevel: "Error",
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
      module.name = entries.get(module.name) ?? entries.get(`${module.name}/index`);
    }
  });
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc could not read the packages");
  await app.generateOutputs(project);
}
