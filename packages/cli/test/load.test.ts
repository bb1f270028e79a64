// `quicrpc load --generate`: inputs made from the project's schemas.
import { createRouter, defaultServiceId, defineMethod, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import { serve } from "@quicrpc/node";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { useProject } from "./project.js";

const { quicrpc, start, write } = useProject();

const SCHEMA = `import { bytes, notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";
const Even = z.int().refine((value) => value % 2 === 0);
export const Shop = service("shop.v1.Shop", {
  get: rpc({ input: z.object({ id: Even, at: z.date() }), output: z.int() }),
  now: rpc({ output: z.int() }),
  list: rpc({ input: z.object({ big: z.bigint() }), output: stream(z.int()) }),
  add: rpc({ input: stream(z.email()), output: z.int() }),
  chat: rpc({ input: stream(z.map(z.string(), z.set(z.int()))), output: stream(z.string()) }),
  put: rpc({ input: bytes(), output: z.int() }),
  say: notify({ input: z.string().min(40) }),
});
`;

const CALLS = 20;

test("each call has an input of its own, which passes the schema; the same seed makes the same ones", async () => {
  write("src/shop.service.ts", SCHEMA);
  const Input = z.object({ id: z.int().refine((value) => value % 2 === 0), at: z.date() });
  const name = "shop.v1.Shop";
  const codecs = { input: zodCodec(Input), output: uncheckedCodec<unknown>() };
  const get = defineMethod({ name, id: defaultServiceId(name) }, "unary", "get", { id: 1, ...codecs });
  let inputs: unknown[] = [];
  const router = createRouter({ get }, { get: (input) => inputs.push(input) });
  await using server = await serve({ listen: "tcp://127.0.0.1:0", routers: [router] });
  const loaded = async (...more: string[]): Promise<unknown[]> => {
    inputs = [];
    const options = ["--generate", "--in-flight", "1", "--warm-up", "0", "--calls", String(CALLS), "--json"];
    const load = start(["load", server.urls[0] ?? "", `${name}/get`, ...options, ...more]);
    const said = await load.says('"clientCpu"');
    expect(said).toContain(`"calls":${CALLS}`);
    expect(said).toContain('"failed":{}');
    // One came before, to find a wrong method or input.
    expect(inputs.length).toBe(CALLS + 1);
    return inputs.slice(0, CALLS);
  };
  const first = await loaded();
  expect(new Set(first.map((input) => JSON.stringify(input))).size).toBeGreaterThan(CALLS / 2);
  expect(await loaded()).toEqual(first);
  expect(await loaded("--seed", "2", "--rate", "1000")).not.toEqual(first);
});

/** Starts a mock of the project's schemas. Returns what loads one of its methods, in a process of its own. */
async function mocked(): Promise<(method: string, ...more: string[]) => ReturnType<typeof quicrpc>> {
  const mock = start(["mock", "--json", "--listen", "tls://127.0.0.1:0"]);
  onTestFinished(async () => void (await mock.stop()));
  const url = /"urls":\["([^"]+)"/.exec(await mock.says("\n"))?.[1] ?? "";
  const options = ["--dev", "--generate", "--warm-up", "0", "--calls", String(CALLS), "--json"];
  return (method, ...more) => quicrpc(["load", url, `shop.v1.Shop/${method}`, ...options, ...more]);
}

test("inputs are made for calls of every kind", async () => {
  write("src/shop.service.ts", SCHEMA);
  const load = await mocked();
  for (const method of ["get", "now", "list", "add", "chat", "put", "say"]) {
    const { code, stdout, stderr } = load(method);
    expect({ method, code, stderr }).toEqual({ method, code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ calls: CALLS, failed: {} });
  }
});

test("says why it makes none", async () => {
  write("src/shop.service.ts", SCHEMA);
  const load = await mocked();
  expect(load("get", "--inputs", "package.json")).toMatchObject({ code: 2 });
  const changed = (from: string, to: string, said: string): void => {
    write("src/shop.service.ts", SCHEMA.replace(from, to));
    expect(load("get")).toMatchObject({ code: 1, stderr: expect.stringContaining(said) });
  };
  changed("get: rpc", "fetch: rpc", "run this in the one that has shop.v1.Shop/get");
  changed(
    "output: z.int() }),",
    "output: stream(z.int()) }),",
    "unary at the server, but server_stream in this project",
  );
  changed("value % 2 === 0", "value === 0.5", "give inputs of your own, by --inputs");
});
