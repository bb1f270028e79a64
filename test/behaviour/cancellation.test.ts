import { expect, it } from "vitest";
import { describeCalls } from "./describe-calls.js";
import { methods } from "./service.js";
import { collect, endless, failure, range } from "./tools.js";

describeCalls("cancellation", (on) => {
  const { options, echo, wait, items, chat, alive } = on;

  it("C23 aborted before the start: nothing is sent", async () => {
    const signal = AbortSignal.abort();
    expect(await failure(wait("early", { signal }))).toMatchObject({ code: "cancelled" });
    expect(await failure(collect(items(1, {}, { signal })))).toMatchObject({ code: "cancelled" });
    await alive();
    expect(on.witness.events).toEqual([]);
  });

  it("C24 unary after the request went out: the handler's signal fires", async () => {
    const abort = new AbortController();
    const call = wait("a", { signal: abort.signal });
    await on.witness.until("wait a");
    abort.abort();
    expect(await failure(call)).toMatchObject({ code: "cancelled" });
    await on.witness.until("aborted a cancelled");
    await alive();
  });

  it("C26 server stream before the first item, and after some", async () => {
    const abort = new AbortController();
    const first = collect(items(0, { open: true }, { signal: abort.signal }));
    const iterator = items(3, { open: true }, { signal: abort.signal })[Symbol.asyncIterator]();
    for (const i of [0, 1, 2]) expect(await iterator.next()).toEqual({ done: false, value: { i } });
    abort.abort();
    expect(await failure(first)).toMatchObject({ code: "cancelled" });
    expect(await failure(iterator.next())).toMatchObject({ code: "cancelled" });
    await on.witness.until("left 0");
    await on.witness.until("left 3");
    await alive();
  });

  it.each([
    [
      "break",
      async (stream: ReadableStream<unknown>) => {
        for await (const _ of stream) break;
      },
    ],
    [
      "reader.cancel()",
      async (stream: ReadableStream<unknown>) => {
        const reader = stream.getReader();
        await reader.read();
        await reader.cancel();
      },
    ],
    [
      "iterator.return()",
      async (stream: ReadableStream<unknown>) => {
        const iterator = stream[Symbol.asyncIterator]();
        await iterator.next();
        const pending = iterator.next();
        await iterator.return?.();
        expect(await pending).toMatchObject({ done: true });
      },
    ],
  ])("C27 consumer's %s cancels the call, even while the producer waits", async (_, leave) => {
    await leave(items(1, { open: true }));
    await on.witness.until("left 1");
    await alive();
  });

  it("C25 client stream before half-close, and after it", async () => {
    const abort = new AbortController();
    const source = endless(1);
    const open = on.client.clientStream(methods.sum, source, options({ signal: abort.signal }));
    const closed = on.client.clientStream(methods.sink, ["a"], options({ signal: abort.signal }));
    await Promise.all([on.witness.until("sum"), on.witness.until("sink")]);
    abort.abort();
    expect(await failure(open)).toMatchObject({ code: "cancelled" });
    expect(await failure(closed)).toMatchObject({ code: "cancelled" });
    await source.left;
    await on.witness.until("sum cancelled");
    await alive();
  });

  it("C28 duplex: the sending side aborted, the receiving side left", async () => {
    const aborted = chat();
    const iterator = aborted.readable[Symbol.asyncIterator]();
    await iterator.next();
    await aborted.writable.abort(new Error("enough"));
    expect(await failure(iterator.next())).toMatchObject({ code: "cancelled" });
    await on.witness.until("chat over");

    const left = chat();
    for await (const _ of left.readable) break;
    expect(await failure(left.writable.getWriter().write("too late"))).toMatchObject({ code: "cancelled" });
    await alive();
  });

  it("C28 duplex: aborted while a write waits", async () => {
    const { readable, writable } = on.client.duplex(methods.stall, options());
    const writer = writable.getWriter();
    await on.witness.until("stall");
    let written: boolean;
    do {
      written = false;
      writer.write("x".repeat(50_000)).then(
        () => (written = true),
        () => {},
      );
      await alive();
    } while (written);
    await writer.abort(new Error("enough"));
    expect(await failure(collect(readable))).toMatchObject({ code: "cancelled" });
    await on.witness.until("stall cancelled");
    await alive();
  });

  it("C28 duplex: an item that does not fit fails both directions", async () => {
    const { readable, writable } = chat();
    const writer = writable.getWriter();
    await expect(writer.write(5 as unknown as string)).rejects.toMatchObject({ code: "invalid_argument" });
    expect(await failure(collect(readable))).toMatchObject({ code: "invalid_argument" });
    await alive();
  });

  it("C28 a handler that wants no more items does not stall the caller", async () => {
    const { readable, writable } = on.client.duplex(methods.enough, options());
    const writer = writable.getWriter();
    for (let i = 0; i < 50; i++) await writer.write("x".repeat(20_000));
    await writer.close();
    await on.witness.until("enough");
    on.witness.release.get("enough")?.();
    expect(await collect(readable)).toEqual(["enough"]);
    await alive();
  });

  it("C29 cancelling one call leaves its siblings untouched", async () => {
    const abort = new AbortController();
    const given = wait("given up", { signal: abort.signal });
    const kept = wait("kept");
    await Promise.all([on.witness.until("wait given up"), on.witness.until("wait kept")]);
    abort.abort();
    expect(await failure(given)).toMatchObject({ code: "cancelled" });
    await on.witness.until("aborted given up cancelled");
    on.witness.release.get("kept")?.();
    expect(await kept).toEqual({ text: "kept" });
  });

  it("C30 cancel after completion is a no-op", async () => {
    const abort = new AbortController();
    expect(await echo("done", { signal: abort.signal })).toEqual({ text: "done" });
    expect(await collect(items(2, {}, { signal: abort.signal }))).toEqual(range(2));
    abort.abort();
    await alive();
  });
});
