import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { type Diagnostic, formatLock, generate, readLock, renameLocked, writeGenerated } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const line = (key: string, service: number, id: number, more = ""): string =>
  `    "${key}": { "id": [${service}, ${id}], "fingerprint": "00000000"${more} }`;
const file = (...lines: readonly string[]): string =>
  `{\n  "version": 1,\n  "methods": {\n${lines.join(",\n")}\n  }\n}\n`;

/** The mistakes in a lock file, as text. */
function problems(text: string): string {
  const diagnostics: Diagnostic[] = [];
  expect(readLock(text, "/quicrpc.lock.json", (each) => void diagnostics.push(each))).toBeUndefined();
  return diagnostics
    .map(
      ({ line, column, code, message, frame, help }) =>
        `${line}:${column} [${code}] ${message}\n${frame}\nhelp: ${help}`,
    )
    .join("\n\n");
}

const fail = (diagnostic: Diagnostic): never => {
  throw new Error(diagnostic.message);
};

describe("lock file", () => {
  test("reads what it writes, in the order of names", () => {
    const text = file(line("a.A/x", 1, 2), line("a.A/y", 1, 1, ', "removed": true'), line("b.B/x", 2, 1));
    const lock = readLock(text, "lock", fail);
    expect(lock && formatLock(lock)).toBe(text);
    const swapped = file(line("b.B/x", 2, 1), line("a.A/y", 1, 1, ', "removed": true'), line("a.A/x", 1, 2));
    const sorted = readLock(swapped, "lock", fail);
    expect(sorted && formatLock(sorted)).toBe(text);
  });

  test("reads what a formatter or a merge by hand has made of it", () => {
    const text = file(line("a.A/x", 1, 2), line("b.B/x", 2, 1));
    const spread = JSON.stringify(JSON.parse(text), undefined, 4);
    const commas = text.replace("},\n", "}\n").replace(/ \}\n {2}\}/, " },\n  }");
    const twice = file(line("a.A/x", 1, 2), line("a.A/x", 1, 2), line("b.B/x", 2, 1));
    const first = text.replace('  "version": 1,\n', "").replace(/\}\n$/, ',\n  "version": 1\n}\n');
    for (const each of [spread, commas, twice, first, text.replaceAll("\n", "\r\n")]) {
      const lock = readLock(each, "lock", fail);
      expect(lock && formatLock(lock)).toBe(text);
    }
  });

  test.each([
    ["conflict markers", file("<<<<<<< HEAD", line("a.A/x", 1, 2), "=======", line("a.A/y", 1, 2), ">>>>>>> theirs")],
    ["two methods of one id", file(line("a.A/x", 1, 2), line("a.A/y", 1, 2))],
    ["the id of a removed method", file(line("a.A/x", 1, 2, ', "removed": true'), line("a.A/y", 1, 2))],
    ["two ids of one method", file(line("a.A/x", 1, 2), line("a.A/x", 1, 3))],
    ["two ids of one service", file(line("a.A/x", 1, 2), line("a.A/y", 9, 3))],
    ["two services of one id", file(line("a.A/x", 1, 2), line("b.B/y", 1, 2))],
    ["an entry that is none", file('    "a.A/x": { "id": [1], "fingerprint": "0" }', line("b.B/y", 2, 99999))],
    ["another version", '{ "version": 3, "methods": {} }'],
    ["something else", "[]"],
    ["an empty file", ""],
    ["blanks", " \n"],
    ["no methods", '{ "version": 1 }'],
    ["a file that was cut off after an entry", file(line("a.A/x", 1, 2), line("b.B/y", 2, 1)).slice(0, 100)],
    ["a file that was cut off in an entry", file(line("a.A/x", 1, 2), line("b.B/y", 2, 1)).slice(0, 130)],
    ["an entry without its braces", file(line("a.A/x", 1, 2), '    "b.B/y": [2, 1]')],
    ["another JSON file", '{ "name": "app", "version": 1, "methods": {} }'],
  ])("%s", (_, text) => {
    expect(problems(text)).toMatchSnapshot();
  });

  test("what cannot be renamed", () => {
    const lock = readLock(file(line("a.A/x", 1, 2), line("a.A/y", 1, 1, ', "removed": true')), "lock", fail);
    if (lock === undefined) return expect.unreachable();
    for (const [from, to, message] of [
      ["a.A/z", "a.A/w", "not in the lock"],
      ["a.A/x", "a.A", "not both"],
      ["a.A/x", "b.B/x", "another service"],
      ["a.A/x", "a.A/y", "reserved"],
      ["a.A/y", "a.A/x", "already"],
    ] as const) {
      expect(() => renameLocked(lock, from, to)).toThrow(message);
    }
  });
});

describe("ids", () => {
  const service = (name: string, methods: string): string =>
    `import { rpc, service } from "@quicrpc/core";\nexport const A = service("${name}", { ${methods} });\n`;

  async function run(files: readonly string[], lock: string, complete = true): Promise<readonly Diagnostic[]> {
    const made = await generate({ files, lock, complete, cwd: workspace.path });
    writeGenerated(made.files);
    return made.diagnostics;
  }

  test("a service of its own id keeps it, and others stay clear of it", async () => {
    const first = workspace.write("own/a.service.ts", service("test.v1.A", "ping: rpc()"));
    const lock = workspace.write("own/quicrpc.lock.json", file(line("test.v1.A/ping", 5, 9)));
    expect(await run([first], lock)).toEqual([]);
    const text = readFileSync(`${workspace.path}/own/generated/a.ts`, "utf8");
    expect(text).toContain("id: 5,");
    expect(text).toContain('"ping", { id: 9,');
    const second = workspace.write("own/b.service.ts", service("test.v1.B", "ping: rpc()"));
    await run([first, second], lock);
    const id = /"test\.v1\.B\/ping": \{ "id": \[(\d+)/.exec(readFileSync(lock, "utf8"))?.[1];
    workspace.write("own/quicrpc.lock.json", file(line("test.v1.A/ping", Number(id), 9)));
    expect(await run([first, second], lock)).toMatchObject([{ code: "service-id-clash", service: "test.v1.B" }]);
  });

  test("a lock file that was emptied is refused, and stays as it is", async () => {
    const schema = workspace.write("emptied/a.service.ts", service("test.v1.A", "ping: rpc()"));
    const lock = workspace.write("emptied/quicrpc.lock.json", "");
    expect(await run([schema], lock)).toMatchObject([{ code: "lock-invalid", file: lock }]);
    expect(readFileSync(lock, "utf8")).toBe("");
  });

  test("a run of some files leaves the services of others alone", async () => {
    const files = ["a", "b"].map((name) =>
      workspace.write(`some/${name}.service.ts`, service(`test.v1.${name}`, "ping: rpc()")),
    );
    const lock = `${workspace.path}/some/quicrpc.lock.json`;
    await run(files, lock);
    const before = readFileSync(lock, "utf8");
    const shapes = readFileSync(`${workspace.path}/some/quicrpc.schema.json`, "utf8");
    await run(files.slice(0, 1), lock, false);
    expect(readFileSync(lock, "utf8")).toBe(before);
    expect(readFileSync(`${workspace.path}/some/quicrpc.schema.json`, "utf8")).toBe(shapes);
    const broken = workspace.write("some/quicrpc.schema.json", "<<<<<<< HEAD\n");
    expect(await run(files.slice(0, 1), lock, false)).toMatchObject([{ code: "snapshot-invalid", file: broken }]);
    expect(readFileSync(broken, "utf8")).toBe("<<<<<<< HEAD\n");
    expect(await run(files, lock, true)).toEqual([]);
    expect(readFileSync(broken, "utf8")).toBe(shapes);
    await run(files.slice(0, 1), lock, true);
    expect(readFileSync(lock, "utf8").match(/"test\.v1\.b\/ping".*"removed": true/)).not.toBeNull();
  });
});
