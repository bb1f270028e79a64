// Comments of generated code lead editors to the schema: asked of TypeScript's language service, as editors do.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { ts as compiler } from "ts-morph";
import { afterAll, describe, expect, test } from "vitest";
import { generate, type GeneratedFile, writeGenerated } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const SCHEMA = `import { rpc, service } from "@quicrpc/core";
import { z } from "zod";
/** A user. */
export const User = z.object({ id: z.string() });
export const Users = service("test.v1.Users", {
  /** Finds one. */
  get: rpc({ input: z.object({ id: z.string() }), output: User }),
  list: rpc({ output: z.array(User) }),
});
export default service("test.v1.Other", { get: rpc() });
`;
const USE = `import type { User, UsersClient, UsersHandlers, OtherClient } from "./generated/users.js";
declare const client: UsersClient;
declare const handlers: UsersHandlers;
declare const other: OtherClient;
export const all: unknown[] = [client.get, client.list, handlers.get, other.get];
export type Mine = User;
`;

async function make(folder: string, options: object = {}): Promise<readonly GeneratedFile[]> {
  const file = workspace.write(join(folder, "users.service.ts"), SCHEMA);
  const { files, diagnostics } = await generate({ files: [file], importExtension: "js", ...options });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  return files;
}

describe.each(["typescript-5.9", "typescript-6"])("%s", (name) => {
  const ts = createRequire(import.meta.url)(name) as typeof compiler;

  test("leads from generated methods and types to their lines in the schema", { timeout: 60_000 }, async () => {
    await make(name);
    const use = workspace.write(`${name}/use.ts`, USE);
    const generated = join(workspace.path, name, "generated/users.ts");
    const service = serviceOf(ts, [use, generated]);
    /** Target of the link in the comment that an editor shows at \`at\`. */
    const linkAt = (at: string): string[] => {
      const position = USE.lastIndexOf(at) + at.length - 1;
      const tags = service.getQuickInfoAtPosition(use, position)?.tags ?? [];
      const parts = tags.flatMap((tag) => (tag.name === "see" ? (tag.text ?? []) : []));
      return parts.flatMap((part) => ("target" in part ? [lineOf(part.target as compiler.DocumentSpan)] : []));
    };
    expect(linkAt("client.get")).toEqual(["users.service.ts:7"]);
    expect(linkAt("client.list")).toEqual(["users.service.ts:8"]);
    expect(linkAt("handlers.get")).toEqual(["users.service.ts:7"]);
    expect(linkAt("other.get")).toEqual(["users.service.ts:10"]);
    expect(linkAt("Mine = User")).toEqual(["users.service.ts:4"]);
    // From the link itself, in the generated file.
    const text = readFileSync(generated, "utf8");
    const [found] = service.getDefinitionAtPosition(generated, text.indexOf("Users.methods.get") + 15) ?? [];
    expect(found && lineOf(found)).toBe("users.service.ts:7");
    // Compilers take the import for used.
    for (const file of [use, generated]) {
      const problems = [...service.getSemanticDiagnostics(file), ...service.getSyntacticDiagnostics(file)];
      expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))).toEqual([]);
    }
  });
});

test("code for another package, for a client alone, or without links, imports nothing for comments", async () => {
  const linked = await make("linked");
  const without = await make("without", { links: false });
  const client = await make("client", { target: "client" });
  const overHttp = await make("http-client", { target: "http-client" });
  const asked = await make("asked", { target: "client", links: true });
  workspace.write("elsewhere/package.json", "{}");
  const elsewhere = await make("elsewhere/schemas", { out: join(workspace.path, "page") });
  const text = (files: readonly GeneratedFile[]): string => files.map((file) => file.text).join();
  for (const files of [linked, asked]) expect(text(files)).toContain("@see");
  for (const files of [without, elsewhere, client, overHttp])
    expect(text(files)).not.toMatch(/@see|users\.service\.js/);
});

function serviceOf(ts: typeof compiler, files: readonly string[]): compiler.LanguageService {
  const settings: compiler.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    noUnusedLocals: true,
    verbatimModuleSyntax: true,
    types: [],
  };
  return ts.createLanguageService({
    getScriptFileNames: () => [...files],
    getScriptVersion: () => "1",
    getScriptSnapshot: (path) =>
      existsSync(path) ? ts.ScriptSnapshot.fromString(readFileSync(path, "utf8")) : undefined,
    getCurrentDirectory: () => workspace.path,
    getCompilationSettings: () => settings,
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (path) => ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
    directoryExists: (path) => ts.sys.directoryExists(path),
    getDirectories: (path) => ts.sys.getDirectories(path),
  });
}

/** The file and line of a place. */
function lineOf({ fileName, textSpan }: compiler.DocumentSpan): string {
  const before = readFileSync(fileName, "utf8").slice(0, textSpan.start);
  return `${fileName.split("/").at(-1)}:${before.split("\n").length}`;
}
