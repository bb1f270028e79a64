import { createRouter, defaultServiceId, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import type { ReceivedBlob } from "@quicrpc/blobs";
import { devCertificate, dial, serve } from "@quicrpc/node";
import { expect, onTestFinished, test } from "vitest";
import { sendAll } from "../src/call-run.js";
import { findMethod } from "../src/find-method.js";
import { useProject } from "./project.js";

const { quicrpc, start, write } = useProject();

const SCHEMA = `import { bytes, notify, rpc, service, stream } from "@quicrpc/core";
import { blob } from "@quicrpc/blobs";
import { z } from "zod";
export const Shop = service("shop.v1.Shop", {
  get: rpc({ input: z.object({ id: z.int() }), output: z.object({ id: z.int(), name: z.string().min(2), at: z.date() }) }),
  own: rpc({ input: z.object({ id: z.int() }), output: z.object({ id: z.int() }) }),
  list: rpc({ input: z.object({}), output: stream(z.object({ email: z.email() })) }),
  add: rpc({ input: stream(z.int()), output: z.int() }),
  chat: rpc({ input: stream(z.string()), output: stream(z.string()) }),
  raw: rpc({ input: z.int(), output: bytes() }),
  say: notify({ input: z.string() }),
  store: rpc({
    input: z.object({ file: blob() }),
    output: z.object({ id: z.int(), file: blob({ maxBytes: 100 }), other: blob().optional() }),
  }),
});
`;

/** The URL of the mock, from the JSON that it prints. */
const urlIn = (said: string): string => /"urls":\["([^"]+)"/.exec(said)?.[1] as string;

async function all(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const got: unknown[] = [];
  for await (const item of items) got.push(item);
  return got;
}

type Call = (method: string, input: unknown) => Promise<unknown>;

/** Starts a mock. Returns what calls it: the answer, or all items of it. */
async function mocked(...args: string[]): Promise<Call> {
  const mock = start(["mock", "--json", "--listen", "tls://127.0.0.1:0", ...args]);
  onTestFinished(async () => void (await mock.stop()));
  const { hash } = await devCertificate();
  const session = await dial(urlIn(await mock.says("\n")), { serverCertificateHashes: [hash] });
  onTestFinished(() => void session.close());
  return async (name, input) => {
    const { method } = await findMethod(session, "shop.v1.Shop", name, {}, { json: true });
    switch (method.kind) {
      case "unary":
        return session.start(method, input);
      case "server_stream":
        return all(session.start(method, input));
      case "client_stream":
        return session.start(method, input as readonly unknown[]);
      case "notify":
        return session.start(method, input);
      case "duplex": {
        const { readable, writable } = session.start(method, undefined);
        await sendAll(input as readonly unknown[], writable);
        return all(readable);
      }
    }
  };
}

test("answers calls of every kind by the schema, the same for the same seed and input, or by handlers of one's own", async () => {
  write("src/shop.service.ts", SCHEMA);
  write("mocks.ts", `export default { "shop.v1.Shop": { own: ({ id }: { id: number }) => ({ id }) } };\n`);
  const call = await mocked("--handlers", "mocks.ts");
  const first = await call("get", { id: 1 });
  expect(first).toEqual({ id: expect.any(Number), name: expect.any(String), at: expect.any(Date) });
  expect(await call("get", { id: 1 })).toEqual(first);
  expect(await call("get", { id: 2 })).not.toEqual(first);
  expect(await call("own", { id: 7 })).toEqual({ id: 7 });
  expect(await call("list", {})).toContainEqual({ email: expect.stringContaining("@") });
  expect(await call("raw", 1)).toContainEqual(expect.any(Uint8Array));
  expect(await call("add", [1, 2])).toEqual(expect.any(Number));
  expect(await call("chat", ["a", "b"])).toEqual([expect.any(String), expect.any(String)]);
  await call("say", "a");
  const stored = (await call("store", { file: new Blob([new Uint8Array(300_000)]) })) as { file: ReceivedBlob };
  expect(await stored.file.bytes()).toHaveLength(100);
  const other = await mocked("--seed", "2", "--errors", "100%");
  await expect(other("get", { id: 1 })).rejects.toMatchObject({ code: "unavailable" });
});

test("call, ls and describe use the project's own schemas where the server has no reflection, and say so", async () => {
  write("src/shop.service.ts", SCHEMA);
  const name = "shop.v1.Shop";
  const any = uncheckedCodec<{ readonly id: number }>();
  const get = defineMethod({ name, id: defaultServiceId(name) }, "unary", "get", { id: 1, input: any, output: any });
  const answer = { name: "tea", at: new Date(0) };
  const router = createRouter({ get }, { get: ({ id }) => ({ id, ...answer }) });
  await using server = await serve({ listen: "tcp://127.0.0.1:0", routers: [router] });
  const [url = ""] = server.urls;
  const note = "The server has no reflection: using the schemas of this project, src/shop.service.ts.\n";
  const call = start(["call", url, `${name}/get`, '{"id":4}']);
  await call.says(note);
  expect(await call.says("}\n")).toContain('{"id":4,"name":"tea","at":"1970-01-01T00:00:00.000Z"}');
  const ls = start(["ls", url]);
  await ls.says(note);
  const listed = await ls.says("say ");
  expect(listed).toContain("chat   duplex");
  expect(listed).not.toContain("Reflection");
  await start(["ls", url, "--json"]).says(`${JSON.stringify({ notice: note.trimEnd() })}\n`);
  const described = start(["describe", url, `${name}/get`]);
  await described.says(note);
  expect(await described.says("at: Date")).toContain("get({");
  await start(["call", url, "shop.v1.Other/get"]).says("this project has no service shop.v1.Other; it has");
});

test("says what is wrong", () => {
  write("src/shop.service.ts", SCHEMA);
  write("mocks.ts", `export default { "shop.v1.Shop": { buy: () => 1 } };\n`);
  expect(quicrpc(["mock", "--handlers", "mocks.ts"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("shop.v1.Shop has no method buy"),
  });
  expect(quicrpc(["mock", "--errors", "lots"])).toMatchObject({ code: 2 });
  write("src/shop.service.ts", SCHEMA.replace("z.email()", "z.symbol()"));
  expect(quicrpc(["mock"])).toMatchObject({ code: 1, stderr: expect.stringContaining("nothing is served") });
});
