import { expect, it } from "vitest";
import { describeCalls } from "./describe-calls.js";
import { methods, unserved } from "./service.js";
import { asyncFrom, collect, endless, failure, range, readableFrom } from "./tools.js";

describeCalls("basic", (on) => {
  const { options, echo, items, chat, alive } = on;

  it("C1 unary echo returns the value", async () => {
    expect(await echo("größe ✓")).toEqual({ text: "größe ✓" });
  });

  it("C4 server stream: N items in order, then a clean end", async () => {
    expect(await collect(items(1000))).toEqual(range(1000));
  });

  it("C5 server stream with zero items", async () => {
    expect(await collect(items(0))).toEqual([]);
  });

  it("C2 client stream: N items, one result · C3 zero items", async () => {
    for (const source of [[1, 2, 3], asyncFrom([1, 2, 3]), readableFrom([1, 2, 3])]) {
      expect(await on.client.clientStream(methods.sum, source, options())).toBe(6);
    }
    expect(await on.client.clientStream(methods.sum, [], options())).toBe(0);
  });

  it("C6 half duplex: all in, then all out", async () => {
    const { readable, writable } = chat();
    const writer = writable.getWriter();
    for (const text of ["a", "b"]) await writer.write(text);
    await writer.close();
    expect(await collect(readable)).toEqual(["HELLO", "A", "B", "BYE"]);
  });

  it("C7 full duplex: reply k before request k+1 · C9 the server speaks first", async () => {
    const { readable, writable } = chat();
    const iterator = readable[Symbol.asyncIterator]();
    const writer = writable.getWriter();
    expect(await iterator.next()).toEqual({ done: false, value: "HELLO" });
    for (const text of ["a", "b", "c"]) {
      await writer.write(text);
      expect((await iterator.next()).value).toBe(text.toUpperCase());
    }
    await writer.close();
    expect((await iterator.next()).value).toBe("BYE");
    expect(await iterator.next()).toMatchObject({ done: true });
  });

  it("C8 duplex with zero items from the caller", async () => {
    const { readable, writable } = chat();
    await writable.close();
    expect(await collect(readable)).toEqual(["HELLO", "BYE"]);
  });

  it("C10 an early result of a client stream stops the sender cleanly", async () => {
    const source = endless();
    expect(await on.client.clientStream(methods.sum, source, options())).toBe(-1);
    await source.left;
    await alive();
  });

  it("C11 unknown method: unimplemented, session lives", async () => {
    const error = await failure(on.client.unary(unserved.method, { text: "" }, options()));
    expect(error).toMatchObject({
      code: "unimplemented",
      message: "service test.v1.Behaviour has no method unserved here",
    });
    await alive();
  });

  it("C12 unknown service: unimplemented, session lives", async () => {
    const error = await failure(on.client.unary(unserved.service, { text: "" }, options()));
    expect(error).toMatchObject({ code: "unimplemented", message: "no service test.v1.Other is served here" });
    await alive();
  });

  it("C14 notify reaches the handler; its failure goes to the error hook", async () => {
    await on.client.notify(methods.note, { text: "good" }, options());
    await on.client.notify(methods.note, { text: "bad" }, options());
    await on.witness.until("note good");
    await on.witness.until("error test.v1.Behaviour/note");
    expect(on.witness.errors).toMatchObject([{ error: { message: "bad note" } }]);
    await alive();
  });

  it("C14 notifications sent right before a close arrive", async () => {
    const wrong = { text: 5 } as unknown as { text: string };
    expect(await failure(on.client.notify(methods.note, wrong, options()))).toMatchObject({
      code: "invalid_argument",
    });
    for (let i = 0; i < 100; i++) void on.client.notify(methods.note, { text: String(i) }, options());
    await on.client.close();
    // On streams of their own they arrive in any order.
    for (let i = 0; i < 100; i++) await on.witness.until(`note ${i}`);
    expect(on.witness.events).toHaveLength(100);
  });

  it("C15 the server calls the client over the same session", async () => {
    expect(await on.client.unary(methods.callBack, { text: "back" }, options())).toEqual({ text: "back" });
    expect(await on.server.unary(methods.echo, { text: "there" }, options())).toEqual({ text: "there" });
    expect(await collect(on.server.serverStream(methods.items, { n: 3 }, options()))).toEqual(range(3));
  });
});
