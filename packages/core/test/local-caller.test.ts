// A typed caller of one's own router, in the same process.
import { createLocalCaller, type Interceptor, interceptRouter, RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";

const service = { name: "test.v1.Local", id: 33 };
const user = z.object({ name: z.string().min(2) });
const methods = {
  greet: defineMethod(service, "unary", "greet", { id: 1, input: zodCodec(user), output: zodCodec(z.string()) }),
  names: defineMethod(service, "server_stream", "names", { id: 2, output: zodCodec(z.string()) }),
  crash: defineMethod(service, "unary", "crash", { id: 3 }),
};
const router = createRouter<typeof methods, { readonly locale: string }>(methods, {
  greet: ({ name }, { connection }) => `${connection.locale === "de" ? "Hallo" : "Hello"}, ${name}`,
  names: () => ["a", "b"],
  crash: () => {
    throw new Error("the secret");
  },
});

it("calls, with what handlers find as their connection", async () => {
  const caller = createLocalCaller([router], { connection: { locale: "de" } });
  expect(await caller.unary(methods.greet, { name: "Ada" })).toBe("Hallo, Ada");
  const names: string[] = [];
  for await (const name of caller.serverStream(methods.names, undefined)) names.push(name);
  expect(names).toEqual(["a", "b"]);
});

it("validates, and hides what a handler throws, as over a network", async () => {
  const onError = vi.fn<(error: unknown) => void>();
  const caller = createLocalCaller([router], { connection: { locale: "en" }, onError });
  await expect(caller.unary(methods.greet, { name: "A" })).rejects.toMatchObject({ code: "invalid_argument" });
  const failed = caller.unary(methods.crash, undefined);
  await expect(failed).rejects.toMatchObject({ code: "internal", method: "test.v1.Local/crash", peer: "this process" });
  await expect(failed).rejects.not.toThrow(/secret/);
  expect(onError.mock.calls[0]?.[0]).toMatchObject({ message: "the secret" });
});

it("runs the interceptors of the server, and those of one router", async () => {
  const seen: string[] = [];
  const note =
    (name: string): Interceptor =>
    (call, next) => {
      seen.push(`${name} ${call.side} ${call.method.name}`);
      if (call.metadata.get("authorization") === undefined) throw new RpcError("unauthenticated", "who is it?");
      return next(call);
    };
  const caller = createLocalCaller([interceptRouter(router, [note("router")])], {
    connection: { locale: "en" },
    interceptors: [note("server")],
  });
  await expect(caller.unary(methods.greet, { name: "Ada" })).rejects.toMatchObject({ code: "unauthenticated" });
  const options = { metadata: { authorization: "Bearer 1" } };
  expect(await caller.unary(methods.greet, { name: "Ada" }, options)).toBe("Hello, Ada");
  expect(seen).toEqual(["server callee greet", "server callee greet", "router callee greet"]);
});

it("keeps no timer, whether it is closed or not", async () => {
  vi.useFakeTimers();
  try {
    const caller = createLocalCaller([router], { connection: { locale: "en" } });
    const call = caller.unary(methods.greet, { name: "Ada" });
    await vi.advanceTimersByTimeAsync(0);
    expect(await call).toBe("Hello, Ada");
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

describe("mistakes of the program are named", () => {
  it("an option that calls do not have", async () => {
    const caller = createLocalCaller([router], { connection: { locale: "en" } });
    const call = (options: object): Promise<unknown> => caller.unary(methods.greet, { name: "Ada" }, options);
    await expect(call({ timeout: 5 })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("a call has no option timeout: did you mean timeoutMs?"),
    });
    await expect(call({ metaData: {} })).rejects.toThrow("did you mean metadata?");
    expect(await call({ timeout: undefined, signal: undefined })).toBe("Hello, Ada");
  });

  it("an option that calls do not have, as a failure of a call of any kind", async () => {
    const caller = createLocalCaller([]);
    const options: object = { timeout: 5 };
    const messages = { input: uncheckedCodec<string>(), output: uncheckedCodec<string>() };
    const failure = expect.objectContaining({ message: expect.stringContaining("did you mean timeoutMs?") });
    const items = caller.serverStream(
      defineMethod(service, "server_stream", "items", { id: 5, ...messages }),
      "a",
      options,
    );
    await expect(items.getReader().read()).rejects.toEqual(failure);
    const cancel = vi.fn<() => void>();
    const source = new ReadableStream<string>({ cancel });
    const collected = defineMethod(service, "client_stream", "collected", { id: 6, ...messages });
    await expect(caller.clientStream(collected, source, options)).rejects.toEqual(failure);
    await vi.waitUntil(() => cancel.mock.calls.length > 0);
    const both = caller.duplex(defineMethod(service, "duplex", "both", { id: 7, ...messages }), options);
    await expect(both.readable.getReader().read()).rejects.toEqual(failure);
    await expect(both.writable.getWriter().write("a")).rejects.toEqual(failure);
    const told = defineMethod(service, "notify", "told", { id: 8, input: messages.input });
    await expect(caller.notify(told, "a", options)).rejects.toEqual(failure);
  });

  it.each([
    ["refinement", z.string().refine((() => Promise.resolve(true)) as never)],
    ["transform", z.string().transform((text) => Promise.resolve(text))],
  ])("a %s that returns a promise, on the side that sends and on the side that receives", async (_, schema) => {
    const checked = defineMethod(service, "unary", "later", { id: 4, input: zodCodec(schema) });
    const unchecked = defineMethod(service, "unary", "later", { id: 4, input: uncheckedCodec<string>() });
    const caller = createLocalCaller([createRouter({ checked }, { checked: () => undefined })]);
    for (const method of [checked, unchecked]) {
      await expect(caller.unary(method, "a")).rejects.toMatchObject({
        code: "internal",
        message: "the schema returned a promise",
      });
    }
  });
});
