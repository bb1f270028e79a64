import {
  type TypedCaller,
  type InterceptedCall,
  type Interceptor,
  interceptCaller,
  interceptRouter,
  observeResponse,
  RpcError,
  withResponseMessages,
} from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { distinctKinds, type Pair } from "./kinds.js";
import { said, saidRouter } from "./said-service.js";
import { behaviourRouter, methods, Witness } from "./service.js";
import { collect, endless, failure } from "./tools.js";
import { renamedMethods, renamedRouter } from "./renamed-service.js";

const carriers: { via: "lane" | "stream" }[] = [{ via: "lane" }, { via: "stream" }];

/** Notes what it sees of each call, adds to its metadata, and doubles the numbers that pass. */
function doubling(notes: string[], name: string): Interceptor {
  return async (call, next) => {
    notes.push(`${name} ${call.side} ${call.method.name}`);
    if (call.side === "caller") call.metadata.append("passed", name);
    const inputs = call.inputs && doubled(call.inputs);
    const answer = observeResponse(await next(inputs === undefined ? call : { ...call, inputs }), {
      onOver: (error) => notes.push(`${name} ${call.side} over ${error?.code ?? "ok"}`),
    });
    return answer.outputs === undefined ? answer : withResponseMessages(answer, doubled(answer.outputs));
  };
}

async function* doubled(items: AsyncIterable<unknown>): AsyncIterable<unknown> {
  for await (const item of items) yield typeof item === "number" ? item * 2 : item;
}

describe.each(distinctKinds)("interceptors: $name", (kind) => {
  describe.each(carriers)("by $via", ({ via }) => {
    let pair: Pair;
    let notes: string[];
    let client: TypedCaller;
    let witness: Witness;
    beforeEach(async () => {
      notes = [];
      witness = new Witness();
      // The routers that every kind serves, under other service ids.
      const routers = [behaviourRouter(witness), saidRouter((event) => witness.saw(event))].map((router) =>
        interceptRouter(renamedRouter(router), [doubling(notes, "c")]),
      );
      pair = await kind.connect({}, { server: { routers } });
      client = interceptCaller(pair.client, [doubling(notes, "a"), doubling(notes, "b")]);
    });
    afterEach(() => pair.close());
    const order = { n: 3 };

    it("see every kind of call, from the outside in, and the answer back", async () => {
      expect(await client.unary(m.said.unary, order, { via })).toBe(3);
      expect(notes).toEqual([
        "a caller unary",
        "b caller unary",
        "c callee unary",
        "c callee over ok",
        "b caller over ok",
        "a caller over ok",
      ]);
      // 0, 1, 2: doubled by c, b and a.
      expect(await collect(client.serverStream(m.said.serverStream, order, { via }))).toEqual([0, 8, 16]);
      expect(await client.clientStream(m.methods.sum, [1, 2], { via })).toBe(3 * 8);
      const { readable, writable } = client.duplex(m.said.duplex, { via });
      const writer = writable.getWriter();
      const items = collect(readable);
      await writer.write(order);
      await writer.close();
      expect(await items).toEqual([0, 8, 16]);
      await client.notify(m.said.note, order, { via, metadata: { key: "noted" } });
      await witness.until("note noted");
    });

    it("add to the request's metadata, without a trace in the caller's own", async () => {
      const metadata = { key: "1" };
      let header: unknown;
      const options = { via, metadata, onResponseMetadata: (heard: Iterable<unknown>) => (header = [...heard]) };
      await client.unary(m.said.unary, order, options);
      expect(header).toEqual([
        ["key", "1"],
        ["passed", "a"],
        ["passed", "b"],
      ]);
      const stream = client.serverStream(m.said.serverStream, order, options);
      await collect(stream);
      expect(stream.responseMetadata.getAll("passed")).toEqual(["a", "b"]);
      expect(stream.trailers.getAll("trailing-key")).toEqual(["1"]);
      expect(metadata).toEqual({ key: "1" });
    });

    it("see errors of calls and of streams, and pass them on as they are", async () => {
      const failing = { n: 2, failWith: "aborted" as const };
      expect(await failure(client.unary(m.said.unary, failing, { via }))).toMatchObject({ code: "aborted" });
      const seen: unknown[] = [];
      const reading = (async () => {
        for await (const item of client.serverStream(m.said.serverStream, failing, { via })) seen.push(item);
      })();
      const error = await failure(reading);
      expect(error).toMatchObject({ code: "aborted" });
      expect(error.metadata.getAll("from-error")).toEqual(["1", "2"]);
      expect(seen).toEqual([0, 8]);
      expect(notes.filter((note) => note.endsWith("over aborted"))).toHaveLength(3);
    });

    it("C27 leaving a stream reaches the handler through them, even while it waits", async () => {
      for await (const _ of client.serverStream(m.methods.items, { n: 1, open: true }, { via })) break;
      await witness.until("left 1");
    });

    it("C25 C28 cancelling reaches the handler through them; sources are left", async () => {
      const abort = new AbortController();
      const source = endless(1);
      const sum = client.clientStream(m.methods.sum, source, { via, signal: abort.signal });
      await witness.until("sum");
      abort.abort();
      expect(await failure(sum)).toMatchObject({ code: "cancelled" });
      await source.left;
      await witness.until("sum cancelled");

      const { readable, writable } = client.duplex(m.methods.chat, { via });
      await readable[Symbol.asyncIterator]().next();
      await writable.abort(new Error("enough"));
      await witness.until("chat over");
    });

    it("C45 an error of a duplex call reaches both directions through them", async () => {
      const { readable, writable } = client.duplex(m.methods.chat, { via });
      const writer = writable.getWriter();
      await writer.write("fail");
      expect(await failure(collect(readable))).toMatchObject({ code: "aborted", message: "as asked" });
      expect(await failure(writer.closed)).toMatchObject({ code: "aborted" });
    });

    it("a write of an item that does not fit rejects with the call's error, as without interceptors", async () => {
      for (const caller of [pair.client, client]) {
        const { readable, writable } = caller.duplex(m.methods.chat, { via });
        const writer = writable.getWriter();
        await writer.write("fits");
        const error = await failure(writer.write(5 as unknown as string));
        expect(error).toMatchObject({ code: "invalid_argument", method: "test.v1.Behaviour.renamed/chat" });
        expect(await failure(collect(readable))).toBe(error);
        expect(await failure(writer.closed)).toBe(error);
      }
    });

    it("a write settles once an interceptor has answered it, or wants no more", async () => {
      const answering: Interceptor = async (call) => {
        const outputs = (async function* () {
          for await (const item of call.inputs ?? []) {
            yield item;
            if (item === "last") break;
          }
          yield "over";
        })();
        return { responseMetadata: call.metadata, trailers: call.metadata, output: undefined, outputs };
      };
      const { readable, writable } = interceptCaller(pair.client, [answering]).duplex(m.methods.chat, { via });
      const writer = writable.getWriter();
      const reader = readable[Symbol.asyncIterator]();
      for (const item of ["first", "second", "last"]) {
        await writer.write(item);
        expect(await reader.next()).toEqual({ done: false, value: item });
      }
      await writer.write("dropped");
      expect(await reader.next()).toEqual({ done: false, value: "over" });
      expect(await reader.next()).toMatchObject({ done: true });
    });

    it("may answer or refuse by themselves: nothing is sent, and sources are left", async () => {
      const refusing = interceptCaller(pair.client, [
        () => Promise.reject(new RpcError("permission_denied", "not here")),
      ]);
      const source = endless(1);
      expect(await failure(refusing.clientStream(m.methods.sum, source, { via }))).toMatchObject({
        code: "permission_denied",
      });
      await source.left.catch(() => {});
      const { readable, writable } = refusing.duplex(m.methods.chat, { via });
      expect(await failure(collect(readable))).toMatchObject({ code: "permission_denied" });
      expect(await failure(writable.getWriter().closed)).toMatchObject({ code: "permission_denied" });
      expect(witness.events).toEqual([]);
    });

    it("see deadlines, and may pass on another", async () => {
      const seen: (number | undefined)[] = [];
      const shorten: Interceptor = (call: InterceptedCall, next) => {
        seen.push(call.deadline);
        return next({ ...call, deadline: Date.now() + 20_000 });
      };
      const shortened = interceptCaller(pair.client, [shorten]);
      const before = Date.now();
      const left = await shortened.unary(m.methods.remaining, undefined, { via, timeoutMs: 60_000 });
      expect(left).toBeLessThanOrEqual(20_000);
      expect(seen[0]).toBeGreaterThanOrEqual(before + 60_000);
    });
  });
});

/** The test services' methods, under the ids of the service that is intercepted. */
const m = { said: renamedMethods(said), methods: renamedMethods(methods) };
