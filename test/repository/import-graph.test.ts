// The import graph of the packages, by the JavaScript that the compiler wrote: types are gone from it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const packages = fileURLToPath(new URL("../../packages", import.meta.url));
const IMPORT = /^\s*(?:import|export)\b[^;"'`]*?\bfrom\s*"([^"]+)"|^\s*import\s*"([^"]+)"|\bimport\("([^"]+)"\)/gm;

/** The modules that each module imports: ours by paths below `packages`, others by their names. */
function importGraph(when: "at its start" | "at any time"): Map<string, readonly string[]> {
  const entries = new Map<string, string>();
  const graph = new Map<string, readonly string[]>();
  const folders = readdirSync(packages);
  for (const folder of folders) {
    const { name, exports = {} } = JSON.parse(readFileSync(join(packages, folder, "package.json"), "utf8")) as {
      name: string;
      exports?: Record<string, string | { default?: string }>;
    };
    for (const [path, entry] of Object.entries(exports)) {
      if (typeof entry === "object" && entry.default !== undefined) {
        entries.set(posix.join(name, path), posix.join(folder, entry.default));
      }
    }
  }
  for (const folder of folders) {
    const files = readdirSync(join(packages, folder, "dist"), { recursive: true, encoding: "utf8" });
    // A build leaves what was written of sources that are gone.
    const hasSource = (name: string): boolean =>
      ["ts", "tsx"].some((ending) => existsSync(join(packages, folder, "src", name.replace(/js$/, ending))));
    for (const file of files.filter((name) => name.endsWith(".js") && hasSource(name))) {
      const path = posix.join(folder, "dist", file.replaceAll("\\", "/"));
      const found = [...readFileSync(join(packages, path), "utf8").matchAll(IMPORT)].map(([, from, alone, later]) => {
        const specifier = from ?? alone ?? (when === "at any time" ? later : undefined);
        if (specifier?.startsWith(".") === true) return posix.join(posix.dirname(path), specifier);
        return specifier === undefined ? undefined : (entries.get(specifier) ?? specifier);
      });
      graph.set(
        path,
        found.filter((each) => each !== undefined),
      );
    }
  }
  return graph;
}

/** The first circle that is found, as a path that ends where it begins. */
function circleIn(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const over = new Set<string>();
  const visit = (module: string, way: readonly string[]): readonly string[] => {
    if (way.includes(module)) return [...way.slice(way.indexOf(module)), module];
    if (over.has(module)) return [];
    for (const next of graph.get(module) ?? []) {
      const circle = visit(next, [...way, module]);
      if (circle.length > 0) return circle;
    }
    over.add(module);
    return [];
  };
  for (const module of graph.keys()) {
    const circle = visit(module, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

const atStart = importGraph("at its start");

/** All that `module` loads at its start: what it imports, and what that imports in turn. */
function loadedBy(module: string): ReadonlySet<string> {
  const reached = new Set([module]);
  for (const each of reached) for (const next of atStart.get(each) ?? []) reached.add(next);
  return reached;
}

it("no module waits for one that waits for it", () => {
  const graph = importGraph("at any time");
  expect(graph.size).toBeGreaterThan(500);
  expect(graph.get("node/dist/serve.js")).toContain("core/dist/index.js");
  expect(circleIn(graph)).toEqual([]);
});

it("a circle is found", () => {
  const graph = new Map([
    ["a", ["b"]],
    ["b", ["c"]],
    ["c", ["b"]],
  ]);
  expect(circleIn(graph)).toEqual(["b", "c", "b"]);
});

it.each(["cli/dist/main.js", "node/dist/index.js", "core/dist/index.js", "core/dist/generated.js"])(
  "%s starts without zod and the compiler, which take longer to load than all else",
  (module) => {
    const reached = loadedBy(module);
    expect(reached.size).toBeGreaterThan(30);
    expect([...reached].filter((each) => /^(zod|ts-morph|typescript)(\/|$)/.test(each))).toEqual([]);
  },
);

it("schemas need zod at their start", () => {
  expect(loadedBy("blobs/dist/index.js")).toContain("zod");
});
