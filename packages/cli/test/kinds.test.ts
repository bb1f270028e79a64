import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { MAIN, useProject } from "./project.js";

// Every kind of method, and every feature of a method's schema, by every command that looks at methods.

const { cwd, quicrpc, run, start, write } = useProject();

const SERVICE = "all.v1.All";
const SCHEMA = `import { bytes, notify, rpc, service, stream } from "@quicrpc/core";
import { blob } from "@quicrpc/blobs";
import { topic } from "@quicrpc/topics";
import { z } from "zod";
const Item = z.object({ id: z.int(), at: z.date() });
const Text = z.object({ text: z.string() });
const mcp = { meta: { mcp: true } };
export const All = service("${SERVICE}", {
  unary: rpc({ input: z.object({ id: z.int() }), output: Item, ...mcp }),
  nothing: rpc(),
  optional: rpc({ input: Item.optional(), output: Item.optional() }),
  fails: rpc({ input: Item, errors: { GONE: z.object({ since: z.date() }) } }),
  readOnly: rpc({ input: z.object({ big: z.bigint() }), output: Item, readOnly: true, ...mcp }),
  once: rpc({ input: z.object({ id: z.int() }), output: Item, once: true, ...mcp }),
  serverStream: rpc({ input: z.object({ id: z.int() }), output: stream(Item), ...mcp }),
  clientStream: rpc({ input: stream(Item), output: z.int() }),
  duplex: rpc({ input: stream(z.string()), output: stream(Item) }),
  notify: notify({ input: Text }),
  datagram: notify({ input: Text, delivery: "datagram" }),
  tick: notify(),
  cursor: rpc({ output: stream(z.object({ at: z.string(), id: z.int() })), cursor: "at" }),
  gapless: rpc({
    output: stream(z.object({ at: z.int(), before: z.int().optional() })),
    cursor: { field: "at", predecessor: "before" },
  }),
  named: rpc({
    output: stream(z.object({ at: z.uuid(), before: z.uuid().nullish() })),
    cursor: { field: "at", predecessor: "before" },
  }),
  resumableDown: rpc({ input: z.object({ id: z.int() }), output: stream(Item), resumable: true }),
  resumableUp: rpc({ input: stream(Item), output: z.int(), resumable: true }),
  bytesDown: rpc({ input: z.object({ id: z.int() }), output: bytes() }),
  bytesUp: rpc({ input: bytes(), output: z.int() }),
  bytesBoth: rpc({ input: bytes(), output: bytes() }),
  blob: rpc({ input: z.object({ file: blob() }), output: z.object({ file: blob({ maxBytes: 100 }) }) }),
  resumableBlob: rpc({
    input: z.object({ file: blob({ resumable: true }) }),
    output: z.object({ file: blob({ resumable: true }).optional(), other: blob({ maxBytes: 100 }) }),
  }),
  room: topic("room.{id}", Text),
  notices: topic("notices", Text, { history: true, meta: { mcp: { maxItems: 2 } } }),
});
`;

const ITEM = '{"id":1,"at":"2026-01-01T00:00:00Z"}';
const ITEM_LINE = String.raw`\{"id":\d+,"at":"[^"]+Z"\}\n`;
const NOTHING = /^$/;

/** A method, an input for it, and the output of `call`. */
interface Row {
  readonly method: string;
  readonly input?: string;
  readonly prints: RegExp;
  /** Whether the answer is written into a file. */
  readonly out?: true;
  /** A stream that the server does not end. */
  readonly isEndless?: true;
}

const ROWS: readonly Row[] = [
  { method: "unary", input: '{"id":1}', prints: line(ITEM_LINE) },
  { method: "nothing", prints: NOTHING },
  { method: "optional", prints: line(`(?:null\\n|${ITEM_LINE})`) },
  { method: "fails", input: ITEM, prints: NOTHING },
  { method: "readOnly", input: '{"big":"9007199254740993"}', prints: line(ITEM_LINE) },
  { method: "once", input: '{"id":1}', prints: line(ITEM_LINE) },
  { method: "serverStream", input: '{"id":1}', prints: line(`(?:${ITEM_LINE}){3,8}`) },
  { method: "clientStream", input: `[${ITEM},${ITEM}]`, prints: /^\d+\n$/ },
  { method: "duplex", input: '["a","b"]', prints: line(`(?:${ITEM_LINE}){2}`) },
  { method: "notify", input: '{"text":"a"}', prints: NOTHING },
  { method: "datagram", input: '{"text":"a"}', prints: NOTHING },
  { method: "tick", prints: NOTHING },
  { method: "cursor", prints: /^\{"at":"1","id":\d+\}\n\{"at":"2","id":\d+\}\n\{"at":"3",/ },
  { method: "gapless", prints: /^\{"at":1\}\n\{"at":2,"before":1\}\n\{"at":3,"before":2\}\n/ },
  { method: "named", prints: /^\{"at":"([^"]+)"\}\n\{"at":"[^"]+","before":"\1"\}\n/ },
  { method: "resumableDown", input: '{"id":1}', prints: line(`(?:${ITEM_LINE}){3,8}`) },
  { method: "resumableUp", input: `[${ITEM}]`, prints: /^\d+\n$/ },
  { method: "bytesDown", input: '{"id":1}', prints: NOTHING, out: true },
  { method: "bytesUp", input: "@file.txt", prints: /^\d+\n$/ },
  { method: "bytesBoth", input: "@file.txt", prints: NOTHING, out: true },
  { method: "blob", input: '{"file":"@file.txt"}', prints: /^\{"file":\{"file":"blob\.out","bytes":100,/, out: true },
  { method: "resumableBlob", input: '{"file":"@file.txt"}', prints: /"other":\{"bytes":100,/ },
  { method: "publishRoom", input: '{"id":"7","message":{"text":"a"}}', prints: NOTHING },
  {
    method: "subscribeRoom",
    input: '{"id":"7"}',
    prints: /^(?:\{"message":\{"text":"[^"]+"\}\}\n){3}/,
    isEndless: true,
  },
  { method: "publishNotices", input: '{"message":{"text":"a"}}', prints: NOTHING },
  {
    method: "subscribeNotices",
    prints: /^\{"position":"[^"]+"\}\n(?:\{"message":\{"text":"[^"]+"\},"position":"[^"]+"\}\n){3}/,
    isEndless: true,
  },
];

function line(pattern: string): RegExp {
  return new RegExp(`^${pattern}$`);
}

/** Writes the project and starts its mock. Returns its URL. */
async function mocked(...args: string[]): Promise<string> {
  write("src/all.service.ts", SCHEMA);
  write("file.txt", "hello");
  const mock = start(["mock", "--json", "--listen", "tls://127.0.0.1:0", ...args]);
  onTestFinished(async () => void (await mock.stop()));
  return /"urls":\["([^"]+)"/.exec(await mock.says("\n"))?.[1] as string;
}

test("the rows are all methods, which ls and describe show", async () => {
  const url = await mocked();
  const [ls, describe] = await Promise.all([
    run(["ls", url, SERVICE, "--json", "--dev"]),
    run(["describe", url, SERVICE, "--dev"]),
  ]);
  const [{ methods }] = JSON.parse(ls.stdout) as [{ methods: readonly { readonly name: string }[] }];
  expect(methods.map(({ name }) => name).sort()).toEqual(ROWS.map(({ method }) => method).sort());
  expect(describe).toMatchObject({ code: 0, stderr: "" });
  for (const { method } of ROWS) expect(describe.stdout).toMatch(new RegExp(`^  ${method}\\(`, "m"));
});

test("call calls methods of every kind, which mock answers", async () => {
  const url = await mocked();
  await eachOf(ROWS, async ({ method, input, prints, out, isEndless }) => {
    const given = input === undefined ? [] : [input];
    const place = out === undefined ? [] : ["--out", `${method}.out`];
    const call = ["call", url, `${SERVICE}/${method}`, ...given, ...place, "--dev"];
    const { code, stdout, stderr } = await run(call, isEndless && prints);
    expect({ method, code, stdout, stderr }).toMatchObject({
      method,
      code: isEndless === true ? 130 : 0,
      stdout: expect.stringMatching(prints),
    });
    if (out !== undefined) expect(readFileSync(join(cwd, `${method}.out`)).length).toBeGreaterThan(0);
  });
});

test("load calls methods of every kind whose calls end", async () => {
  const url = await mocked();
  await eachOf(ROWS, async ({ method, input, isEndless }) => {
    const given = input === undefined ? [] : [input];
    const many = ["--calls", "4", "--warm-up", "0", "--in-flight", "2", "--json", "--dev"];
    const timeout = isEndless === true ? ["--timeout", "200"] : [];
    const { code, stdout, stderr } = await run(["load", url, `${SERVICE}/${method}`, ...given, ...many, ...timeout]);
    if (isEndless === true) expect(stderr).toContain("load waits for the end of each call's stream");
    else expect({ method, code, stderr, ...JSON.parse(stdout) }).toMatchObject({ code: 0, calls: 4, failed: {} });
  });
});

test("load makes inputs of every form, and reads the blobs of answers, which would otherwise wait until they are too many", async () => {
  const url = await mocked();
  const many = ["--generate", "--calls", "1100", "--warm-up", "0", "--json", "--dev"];
  for (const method of ["blob", "clientStream", "bytesBoth"]) {
    const { code, stdout, stderr } = await run(["load", url, `${SERVICE}/${method}`, ...many]);
    expect({ method, code, stderr, ...JSON.parse(stdout) }).toMatchObject({ code: 0, calls: 1100, failed: {} });
  }
});

test("gen writes what breaking finds unchanged at the server, and in a file", async () => {
  const url = await mocked();
  expect(quicrpc(["gen", "src/all.service.ts", "--out", "src/generated"])).toMatchObject({ code: 0, stderr: "" });
  for (const against of [[url, "--dev"], ["quicrpc.schema.json"]])
    expect(await run(["breaking", "--against", ...against])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("no change"),
    });
});

test("mcp calls the tools of every kind that can be one", async () => {
  const url = await mocked();
  const args = [MAIN, "mcp", url, "--dev"];
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, stderr: "pipe" }));
  const { tools } = await client.listTools();
  const marked = ["once", "publishNotices", "readOnly", "serverStream", "subscribeNotices", "unary"];
  expect(tools.map(({ name }) => name).sort()).toEqual(marked.map((name) => `All_${name}`));
  const input = { id: 1, big: "7", message: { text: "a" } };
  for (const { name } of tools)
    expect({ name, isError: false, ...(await client.callTool({ name, arguments: input })) }).toMatchObject({
      isError: false,
    });
  await client.close();
});

test("a user's handler serves either side of a topic", async () => {
  write("mocks.ts", `export default { "${SERVICE}": { publishRoom: () => { throw new Error("full") } } };\n`);
  const url = await mocked("--handlers", "mocks.ts");
  const room = (name: string): string[] => [
    "call",
    url,
    `${SERVICE}/${name}`,
    '{"id":"7","message":{"text":"a"}}',
    "--dev",
  ];
  expect(await run(room("publishRoom"))).toMatchObject({ code: 1, stderr: expect.stringContaining("internal") });
  expect(await run(room("subscribeRoom"), /text/)).toMatchObject({ code: 130 });
});

/** Runs `work` for each row, a few at a time: each is a process. */
async function eachOf(rows: readonly Row[], work: (row: Row) => Promise<void>): Promise<void> {
  const left = [...rows];
  const worker = async (): Promise<void> => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) await work(row);
  };
  await Promise.all([worker(), worker(), worker()]);
}
