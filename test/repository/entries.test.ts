// The entries of @quicrpc/core, by their text: what is exported, and that it is documented.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const read = (...path: string[]): Promise<string> => readFile(join(root, ...path), "utf8");

async function namesOf(entry: string): Promise<string[]> {
  let text = (await read("packages/core/src", entry)).replaceAll(/\/\/.*$/gm, "");
  for (const [, path = ""] of text.matchAll(/^export type \* from "(.*)\.js"/gm)) {
    const declared = (await read("packages/core/src", `${path}.ts`)).matchAll(/^export interface (\w+)/gm);
    for (const [, name] of declared) text += `{ ${name} }`;
  }
  const lists = [...text.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = ""]) => list.split(","));
  return lists.map((name) => name.trim().replace(/^type /, "")).filter((name) => name !== "");
}

let docs: string;

beforeAll(async () => {
  const pages = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md"));
  const texts = [...pages.map((name) => read("docs", name)), read("packages/core/README.md")];
  docs = (await Promise.all(texts)).join("\n");
});

it.each([
  ["applications", "index.ts", 60],
  ["transports", "transports.ts", 40],
])("what %s import is little, and documented", async (_, entry, most) => {
  const names = await namesOf(entry);
  expect(names.length).toBeLessThanOrEqual(most);
  expect(names.filter((name) => !new RegExp(`\`[^\`]*\\b${name}\\b`).test(docs))).toEqual([]);
});

it("a name that generated code has of its entry means the same everywhere", async () => {
  const [application, generated, transport] = await Promise.all(
    ["index.ts", "generated.ts", "transports.ts"].map(namesOf),
  );
  const types =
    "Awaitable CallContext CallOptions Caller DuplexStream ItemStream Router RpcErrorOf StreamSource UnsharedBytes";
  const shared = new Set(types.split(" "));
  const others = new Set([...(application ?? []), ...(transport ?? [])]);
  const twice = (generated ?? []).filter((name) => others.has(name) && !shared.has(name));
  expect(twice).toEqual([]);
});

it("what Node loads of a package is of one set of files, whichever entry it has it from", async () => {
  for (const folder of await readdir(join(root, "packages"))) {
    const { exports } = JSON.parse(await read("packages", folder, "package.json")) as {
      exports?: Record<string, string | { node?: string }>;
    };
    const entries = Object.entries(exports ?? {}).filter(([, entry]) => typeof entry === "object");
    const bundled = entries.map(([path, entry]) => [path, typeof entry === "object" && entry.node !== undefined]);
    expect(new Set(bundled.map(([, has]) => has)).size, `${folder}: ${JSON.stringify(bundled)}`).toBeLessThanOrEqual(1);
  }
});

it("development builds have every name of the other entry", async () => {
  const found: string[] = [];
  for (const folder of await readdir(join(root, "packages"))) {
    const { exports = {} } = JSON.parse(await read("packages", folder, "package.json")) as {
      exports?: Record<string, string | { default?: string; development?: string }>;
    };
    for (const [path, entry] of Object.entries(exports)) {
      if (typeof entry === "string" || entry.development === undefined) continue;
      const [development, plain] = await Promise.all(
        [entry.development, entry.default as string].map(async (file) => {
          const names: object = (await import(join(root, "packages", folder, file))) as object;
          return Object.keys(names).toSorted();
        }),
      );
      expect(development, `${folder} ${path}`).toEqual(plain);
      found.push(`${folder} ${path}`);
    }
  }
  expect(found).toEqual(["browser .", "core .", "core ./generated", "core ./transport", "http .", "query ."]);
});
