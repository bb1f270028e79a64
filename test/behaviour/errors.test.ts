import type { RpcError } from "@quicrpc/core";
import { expect, it } from "vitest";
import { describeDistinctCalls } from "./describe-calls.js";
import { said } from "./said-service.js";
import { methods } from "./service.js";
import { tellable, thrown, unreadable } from "./thrown-service.js";
import { codes, collect, endless, failure, range } from "./tools.js";

const samples = Object.entries(unreadable).filter(([name]) =>
  /^a revoked proxy$|(message cannot|a message$|a string)/.test(name),
);

function aborted(reason: unknown): AbortController {
  const controller = new AbortController();
  controller.abort(reason);
  return controller;
}

describeDistinctCalls("errors", (on) => {
  const { options, items, chat, alive } = on;

  /** The errors of calls of each kind whose handlers throw the value of this name. */
  async function failuresOf(name: string): Promise<readonly RpcError[]> {
    const { readable, writable } = on.client.duplex(thrown.duplex, options());
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    writer.write(name).catch(() => {});
    return Promise.all([
      failure(on.client.unary(thrown.unary, name, options())),
      failure(on.client.unary(thrown.later, name, options())),
      failure(collect(on.client.serverStream(thrown.serverStream, name, options()))),
      failure(on.client.clientStream(thrown.clientStream, [name], options())),
      failure(collect(readable)),
    ]);
  }

  it.each(codes)("C42 status code %s, on every kind of call", async (code) => {
    const unary = on.client.unary(methods.fail, { code, message: `it was ${code}` }, options());
    expect(await failure(unary)).toMatchObject({ code, message: `it was ${code}` });
    expect(await failure(collect(items(0, { failWith: code })))).toMatchObject({
      code,
      message: "after the items",
    });
    const given = on.client.clientStream(said.clientStream, [{ n: 0, failWith: code }], options());
    expect(await failure(given)).toMatchObject({ code, message: "as told" });
    const { readable, writable } = on.client.duplex(said.duplex, options());
    const writer = writable.getWriter();
    writer.write({ n: 1, failWith: code }).catch(() => {});
    const iterator = readable[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 0 });
    expect(await failure(iterator.next() as Promise<unknown>)).toMatchObject({ code, message: "as told" });
    expect(await failure(writer.closed)).toMatchObject({ code });
  });

  it.each([
    ["unicode", "größe ✓ 🎈"],
    ["whitespace", " \t\n "],
    ["8 KiB", "m".repeat(8192)],
    ["empty", ""],
  ])("C43 %s message arrives exactly", async (_, message) => {
    const error = await failure(on.client.unary(methods.fail, { code: "aborted", message }, options()));
    expect(error.message).toBe(message);
  });

  it("C44 error details round-trip", async () => {
    const details = { a: [1, "two", null], at: { deep: true } };
    const error = await failure(on.client.unary(methods.fail, { code: "aborted", message: "", details }, options()));
    expect(error.details).toEqual(details);
  });

  it("C45 error after k items: all k, then the error · C46 with zero items", async () => {
    for (const n of [5, 0]) {
      const seen: unknown[] = [];
      const reading = (async () => {
        for await (const item of items(n, { failWith: "aborted" })) seen.push(item);
      })();
      expect(await failure(reading)).toMatchObject({ code: "aborted" });
      expect(seen).toEqual(range(n));
    }
  });

  it("C45 an error of a duplex call reaches both directions", async () => {
    const { readable, writable } = chat();
    const writer = writable.getWriter();
    await writer.write("a");
    await writer.write("fail");
    const seen: string[] = [];
    const reading = (async () => {
      for await (const text of readable) seen.push(text);
    })();
    expect(await failure(reading)).toMatchObject({ code: "aborted", message: "as asked" });
    expect(seen).toEqual(["HELLO", "A"]);
    expect(await failure(writer.closed)).toMatchObject({ code: "aborted" });
  });

  it("C50 an invalid item is refused at once, and a failing source fails the call", async () => {
    const wrong = on.client.clientStream(methods.sum, [1, "two" as unknown as number], options());
    expect(await failure(wrong)).toMatchObject({ code: "invalid_argument" });
    const failing = (function* (): Iterable<number> {
      yield 1;
      throw new Error("in the source");
    })();
    const broken = on.client.clientStream(methods.sum, failing, options());
    expect(await failure(broken)).toMatchObject({ code: "unknown", message: "in the source" });
    await alive();
  });

  it("C49 a thrown plain Error leaks neither message nor stack", async () => {
    const error = await failure(on.client.unary(methods.crash, { text: "the secret" }, options()));
    expect(error).toMatchObject({ code: "internal", message: "the handler failed", details: undefined });
    await on.witness.until("error test.v1.Behaviour/crash");
    expect(on.witness.errors).toMatchObject([{ error: { message: "the secret" }, method: "test.v1.Behaviour/crash" }]);
  });

  it.each(Object.keys(unreadable))("C49 a handler that throws %s fails its own call", async (name) => {
    for (const error of await failuresOf(name)) {
      expect(error).toMatchObject({ code: "internal", message: "the handler failed", details: undefined });
    }
    await alive();
    // Only a witness in the same process has what cannot be cloned: a page skips from here on.
    void process.versions;
    await expect.poll(() => on.witness.errors.length).toBe(5);
    // A hook that looks at an error does not fail.
    for (const { error } of on.witness.errors) {
      const { name, message, stack, cause } = Object(error) as Error;
      expect([name, message, stack, cause]).toHaveLength(4);
    }
  });

  it.each(Object.entries(tellable))("C42 a handler that throws %s", async (name, [, seen]) => {
    for (const error of await failuresOf(name)) expect(error).toMatchObject(seen);
    await alive();
  });

  it.each(samples)("C49 a call whose signal is aborted with %s is cancelled", async (_, make) => {
    const given = make();
    const { signal } = aborted(given);
    expect(await failure(on.wait("before", { signal }))).toMatchObject({ code: "cancelled" });
    expect(await failure(collect(items(1, {}, { signal })))).toMatchObject({ code: "cancelled" });
    const later = new AbortController();
    const calls = [
      failure(on.wait("later", { signal: later.signal })),
      failure(collect(items(1, { open: true }, { signal: later.signal }))),
      failure(on.client.clientStream(methods.sum, endless(1), options({ signal: later.signal }))),
    ];
    await Promise.all(["wait later", "item 0", "sum"].map((event) => on.witness.until(event)));
    later.abort(given);
    for (const call of calls) expect(await call).toMatchObject({ code: "cancelled" });
    await alive();
  });

  it.each(samples)("C49 a source of items that throws %s fails its own call", async (_, make) => {
    const failing = (function* (): Iterable<number> {
      yield 1;
      throw make();
    })();
    const call = on.client.clientStream(methods.sum, failing, options());
    expect(await failure(call)).toMatchObject({ message: expect.any(String) as string });
    await alive();
  });

  it.each(samples)("C49 streams that are given up with %s end their own call", async (_, make) => {
    const { readable, writable } = chat();
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    writer.abort(make()).catch(() => {});
    await failure(collect(readable));
    const stream = items(3, { open: true });
    await on.witness.until("item 2");
    await stream.cancel(make());
    await on.witness.until("left 3");
    await alive();
  });

  it.each(samples)("C49 an input whose field throws %s is refused", async (_, make) => {
    const input = {
      get text(): string {
        throw make();
      },
    };
    await failure(on.client.unary(methods.echo, input, options()));
    await alive();
  });

  it("C49 a notification whose handler throws what cannot be read is reported", async () => {
    for (const name of Object.keys(unreadable)) await on.client.notify(thrown.note, name);
    // As above.
    void process.versions;
    await expect.poll(() => on.witness.errors.length).toBe(Object.keys(unreadable).length);
    await alive();
  });

  it("C50 invalid input is refused with the issue's path, invalid output is internal", async () => {
    const input = { text: 5 } as unknown as { text: string };
    expect(await failure(on.client.unary(methods.echo, input, options()))).toMatchObject({
      code: "invalid_argument",
      details: [{ path: ["text"], code: "invalid_type" }],
    });
    const error = await failure(on.client.unary(methods.wrong, { text: "" }, options()));
    expect(error).toMatchObject({ code: "internal", message: "the handler failed" });
    await on.witness.until("error test.v1.Behaviour/wrong");
    expect(String(on.witness.errors[0]?.error)).toContain("does not fit its schema");
  });
});
