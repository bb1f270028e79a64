// The entries of @quicrpc/core, by their text: what is exported, and that it is documented.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const read = (...path: string[]): Promise<string> => readFile(join(root, ...path), "utf8");

async function namesOf(entry: string): Promise<string[]> {
  const text = (await read("packages/core/src", entry)).replaceAll(/\/\/.*$/gm, "");
  const lists = [...text.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = ""]) => list.split(","));
  return lists.map((name) => name.trim().replace(/^type /, "")).filter((name) => name !== "");
}

let docs: string;

beforeAll(async () => {
  const pages = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md"));
  const texts = [...pages.map((name) => read("docs", name)), read("packages/core/README.md")];
  docs = (await Promise.all(texts)).join("\n");
});

it("what applications import is little, and documented", async () => {
  const names = await namesOf("index.ts");
  expect(names.length).toBeLessThanOrEqual(80);
  expect(names.filter((name) => !new RegExp(`\`[^\`]*\\b${name}\\b`).test(docs))).toEqual([]);
});

it("a name that generated code has of its entry means the same everywhere", async () => {
  const [application, generated, transport] = await Promise.all(
    ["index.ts", "generated.ts", "transports.ts"].map(namesOf),
  );
  const types = "Awaitable CallContext CallOptions Caller DuplexStream ItemStream Router RpcErrorOf StreamSource";
  const shared = new Set(types.split(" "));
  const others = new Set([...(application ?? []), ...(transport ?? [])]);
  const twice = (generated ?? []).filter((name) => others.has(name) && !shared.has(name));
  // `bytes` and `stream` of schemas are other functions than the pieces of codecs.
  expect(twice).toEqual(["bytes"]);
});
