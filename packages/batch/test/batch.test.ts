import { inspect } from "node:util";
import {
  authorize,
  concurrencyLimit,
  createLocalCaller,
  createSession,
  type Interceptor,
  isRpcErrorOf,
  type RpcError,
  rpcError,
} from "@quicrpc/core";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createBatch, createBatches, type BatchLimits } from "@quicrpc/batch";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { failure } from "../../../test/behaviour/tools.js";
import { postsMethods, type Seen, screenRouters, usersMethods } from "./screen.js";

const services = { users: usersMethods, posts: postsMethods };
/** Whether an element of a list may be missing depends on `noUncheckedIndexedAccess`. */
const at = <T>(list: { readonly [index: number]: T }, index: number): T => Reflect.get(list, index);
let seen: Seen;
beforeEach(() => {
  seen = { calls: [], aborted: [], running: 0, mostRunning: 0 };
});

function caller(
  limits: BatchLimits = {},
  interceptors: readonly Interceptor[] = [],
  onError?: (error: unknown) => void,
) {
  return createLocalCaller([...screenRouters(seen), createBatches(limits)], {
    interceptors,
    ...(onError && { onError }),
  });
}

describe("a batch", () => {
  it("makes calls that take parts of earlier responses", async () => {
    const batch = createBatch(caller(), services);
    const user = batch.users.get({ id: "ada" });
    const boss = batch.users.get({ id: user.boss! });
    const posts = batch.posts.list({ author: user.id, limit: 50 });
    const names = batch.each(posts.items, (post) => batch.users.get({ id: post.author }));
    const second = batch.users.get({ id: at(posts.items, 1).author });
    const counted = batch.posts.count(user.name);
    expect(seen.calls).toEqual([]);
    const [u, b, p, n, s, c] = await batch.send(user, boss.name, posts, names, second.tags, counted);
    expect(u).toMatchObject({ id: "ada", born: new Date("1815-12-10"), karma: 2n ** 60n });
    expect(b).toBe("user boss");
    expect(p.items).toHaveLength(50);
    expect(n.map(({ id }) => id)).toEqual(p.items.map(({ author }) => author));
    expect(s).toEqual(["ada1"]);
    expect(c).toEqual({ id: "user ada", n: 8 });
  });

  it("keeps values that JSON lacks, in references and next to them", async () => {
    const batch = createBatch(caller(), services);
    const user = batch.users.get({ id: "ada" });
    const older = batch.users.older({ than: user.born, karma: 2n ** 62n, names: new Map([["a", 7]]) });
    const again = batch.users.older({ than: new Date(0), karma: older.karma });
    expect(await batch.send(older, again)).toEqual([
      { years: 1815, karma: 2n ** 62n, names: 7 },
      { years: 1970, karma: 2n ** 62n, names: 0 },
    ]);
  });

  it("passes whole responses, elements and empty lists on", async () => {
    const batch = createBatch(caller(), services);
    const value = batch.users.echo({ list: ["a", "b"], none: [], $ref: 1, ["__proto__x"]: { $date: "no date" } });
    const same = batch.users.echo(value);
    const list = batch.posts.list({ author: "a", limit: 0 });
    const none = batch.each(list.items, (item) => batch.users.echo([item, value, { item }]));
    const forgotten = batch.users.forget();
    const sent = await batch.send(same, none, forgotten);
    expect(sent).toEqual([
      { list: ["a", "b"], none: [], $ref: 1, ["__proto__x"]: { $date: "no date" } },
      [],
      undefined,
    ]);
  });

  it("validates inputs after references were replaced", async () => {
    const batch = createBatch(caller(), services);
    const empty = batch.users.echo("");
    const user = batch.users.get({ id: empty as never });
    const error = await failure(batch.send(user));
    expect(error).toMatchObject({ code: "invalid_argument", method: "screen.v1.Users/get", fromCall: true });
    expect(error.message).toContain("at id");
    expect(error.message).toContain("(step 1 of the batch, screen.v1.Users/get)");
    expect(seen.calls).toEqual([]);
  });

  it("names the method of an input that does not fit at once", () => {
    const batch = createBatch(caller(), services);
    expect(() => batch.users.get({ id: 5 as never })).toThrow("id");
  });

  it("fails what depends on a failed step, and nothing else", async () => {
    const batch = createBatch(caller(), services);
    const user = batch.users.get({ id: "nobody" });
    const posts = batch.posts.list({ author: user.id });
    const names = batch.each(posts.items, (post) => batch.users.get({ id: post.author }));
    const other = batch.users.get({ id: "ada" });
    const [ofUser, ofPosts, ofNames, ofOther] = batch.start(user, posts, names, other);
    const missing = await failure(ofUser);
    expect(missing).toMatchObject({ code: "not_found", reason: "NO_SUCH_USER", details: { id: "nobody" } });
    expect(isRpcErrorOf(usersMethods.get, missing)).toBe(true);
    expect(await failure(ofPosts)).toMatchObject({
      code: "failed_precondition",
      message:
        "did not run: its author is id of step 0 (screen.v1.Users/get), which failed (not_found: there is no such user) (step 1 of the batch, screen.v1.Posts/list)",
    });
    expect((await failure(ofNames)).message).toMatch(/^did not run: its each is items of step 1 \(screen.v1.Posts/);
    expect(await ofOther).toMatchObject({ id: "ada" });
    expect(seen.calls.toSorted()).toEqual(["get ada", "get nobody"]);
  });

  it("send() rejects with the first failure, also that of a call whose response is not asked for", async () => {
    const batch = createBatch(caller(), services);
    batch.users.get({ id: "nobody" });
    const user = batch.users.get({ id: "ada" });
    expect(await failure(batch.send(user))).toMatchObject({ code: "not_found", method: "screen.v1.Users/get" });
  });

  it("names the element that failed", async () => {
    const batch = createBatch(caller(), services);
    const list = batch.users.echo(["ada", "nobody"]);
    const all = batch.each(list as never, (id) => batch.users.get({ id: id as never }));
    const error = await failure(batch.send(all));
    expect(error.message).toBe("there is no such user (step 1 of the batch, screen.v1.Users/get, element 1)");
    expect(seen.calls).toEqual(["get ada", "get nobody"]);
  });

  it("tells nothing of an exception, and reports it", async () => {
    const errors: unknown[] = [];
    const batch = createBatch(
      caller({}, [], (error) => void errors.push(error)),
      services,
    );
    const error = await failure(batch.send(batch.users.crash()));
    expect(error).toMatchObject({ code: "internal" });
    expect(error.message).not.toContain("secret");
    expect(errors).toMatchObject([{ message: "a secret of the server" }]);
  });

  it("runs the server's interceptors for each call, and not for the batch", async () => {
    const names: string[] = [];
    const scopesOf = (): string[] => [];
    const counting: Interceptor = (call, next) => {
      names.push(`${call.method.name} ${call.metadata.get("trace")}`);
      return next(call);
    };
    const batch = createBatch(caller({}, [counting, authorize({ scopesOf })]), services, { metadata: { trace: "t1" } });
    const [secret, user] = batch.start(batch.users.secret(), batch.users.get({ id: "ada" }));
    expect(await failure(secret)).toMatchObject({ code: "permission_denied" });
    expect((await user).id).toBe("ada");
    expect(names).toEqual(["secret t1", "get t1"]);
  });

  it("a caller without permission does not learn that its input is wrong", async () => {
    const scopesOf = (): string[] => ["echo"];
    const guard = authorize({ scopesOf, permissionOf: ({ name }) => (name === "run" ? "public" : [name]) });
    const input = async (id: unknown): Promise<RpcError> => {
      const batch = createBatch(caller({}, [guard]), services);
      return failure(batch.send(batch.users.get({ id: batch.users.echo(id) as never })));
    };
    const [wrong, right] = [await input(5), await input("ada")];
    expect(wrong).toMatchObject({ code: "permission_denied", message: right.message, details: undefined });
    expect(seen.calls).toEqual([]);
  });

  it("a call within it has the connection value of the batch", async () => {
    const [ours, theirs] = createMemoryPair();
    const connections: unknown[] = [];
    const own: Interceptor = (call, next) => (connections.push(call.context?.connection), next(call));
    const { interceptRouter } = await import("@quicrpc/core");
    const routers = [...screenRouters(seen), createBatches()].map((router) => interceptRouter(router, [own]));
    createSession(theirs, { routers, connection: "ada" });
    const session = createSession(ours);
    const batch = createBatch(session, services);
    await batch.send(batch.users.get({ id: "a" }), batch.users.forget());
    expect(connections).toEqual(["ada", "ada"]);
    await session.close();
  });
});

describe("responses", () => {
  const tools = { name: "batch.v1.Tools", id: 7303 };
  const text = defineMethod(tools, "unary", "text", { id: 1, output: zodCodec(z.string()) });
  const methods = {
    text,
    byId: defineMethod(tools, "unary", "byId", {
      id: 2,
      output: zodCodec(z.record(z.string(), z.object({ n: z.int() }))),
    }),
    find: defineMethod(tools, "unary", "find", { id: 3, output: zodCodec(z.object({ n: z.int() }).optional()) }),
    fail: defineMethod(tools, "unary", "fail", {
      id: 4,
      errors: { BAD: { code: "not_found", details: zodCodec(z.unknown()) } },
    }),
  };
  const number = { ...text, output: zodCodec(z.int()) } as unknown as typeof text;
  const served = { ...methods, text: number };
  const toolsRouter = createRouter(served, {
    text: () => 5 as never,
    byId: () => ({ 42: { n: 1 } }),
    find: () => undefined,
    fail: () => {
      throw rpcError(served.fail, "BAD", { n: 5 });
    },
  });
  const toolsCaller = createLocalCaller([toolsRouter, ...screenRouters(), createBatches()]);

  it("that do not fit the schema of the client fail alone, with the method's name", async () => {
    const batch = createBatch(toolsCaller, { ...services, tools: methods });
    const [wrong, user] = batch.start(batch.tools.text(), batch.users.get({ id: "ada" }));
    const error = await failure(wrong);
    expect(error).toMatchObject({ code: "invalid_argument", method: "batch.v1.Tools/text", fromCall: true });
    expect(error.message).toContain("(step 0 of the batch, batch.v1.Tools/text)");
    expect(await user).toMatchObject({ id: "ada" });
  });

  it("details that do not fit the schema of the client are decoded without it", async () => {
    const details = zodCodec(z.string());
    const fail = { ...methods.fail, errors: { BAD: { code: "not_found", details } } } as unknown as typeof methods.fail;
    const batch = createBatch(toolsCaller, { tools: { fail } });
    const error = await failure(batch.send(batch.tools.fail()));
    expect(error).toMatchObject({ code: "not_found", reason: undefined, details: { n: 5 } });
  });

  it("fields whose names are numbers", async () => {
    const batch = createBatch(toolsCaller, { ...services, tools: methods });
    const { n } = at(batch.tools.byId() as never, 42) as { n: never };
    expect(await batch.send(n, batch.users.echo(n))).toEqual([1, 1]);
  });

  it("a part of a missing part is an error, also for the client", async () => {
    const batch = createBatch(toolsCaller, { tools: methods });
    const error = await failure(batch.start(batch.tools.find().n)[0]);
    expect(error).toMatchObject({
      code: "failed_precondition",
      message: "the value has no n (step 0 of the batch, batch.v1.Tools/find)",
    });
  });
});

describe("interceptors", () => {
  it("a limit of concurrent calls counts the calls of a batch, and not the batch", async () => {
    const batch = createBatch(caller({}, [concurrencyLimit({ maxCalls: 1, maxQueued: 9 })]), services);
    const calls = ["a", "b", "c"].map((id) => batch.users.get({ id }));
    expect(await batch.send(...calls)).toHaveLength(3);
    expect(seen.mostRunning).toBe(1);
  });

  it("the metadata that one changes is that of one call", async () => {
    const found: unknown[] = [];
    const writing: Interceptor = (call, next) => {
      found.push(call.metadata.get("who"), call.metadata.get("trace"));
      call.metadata.set("who", "a user");
      return next(call);
    };
    const batch = createBatch(caller({}, [writing]), services, { metadata: { trace: "t1" } });
    await batch.send(batch.users.get({ id: "a" }), batch.users.get({ id: "b" }));
    expect(found).toEqual([undefined, "t1", undefined, "t1"]);
  });
});

describe("options of createBatches()", () => {
  it("that are undefined have their defaults", async () => {
    const limits: unknown = { maxElements: undefined, maxCalls: undefined };
    const batch = createBatch(caller(limits as BatchLimits), services);
    const all = batch.each(batch.posts.list({ author: "a", limit: 101 }).items, () => batch.users.forget());
    expect((await failure(batch.send(all))).message).toContain("maxElements of the server's batches is 100");
  });

  it.each([{ maxConcurrent: 0 }, { maxCalls: 0.5 }, { maxMs: Number.NaN }, { maxBytes: -1 }, { maxSteps: 1025 }])(
    "%j is refused",
    (limits) => {
      expect(() => createBatches(limits)).toThrow(/^createBatches\(\): max\w+ is an? /);
    },
  );
});

describe("deadlines and cancelling", () => {
  it("the deadline holds for the whole batch", async () => {
    const batch = createBatch(caller(), services, { timeoutMs: 20 });
    const [waited] = batch.start(batch.users.wait());
    expect(await failure(waited)).toMatchObject({ code: "deadline_exceeded" });
    await expect.poll(() => seen.aborted).toEqual(["deadline_exceeded"]);
  });

  it("the server limits its time", async () => {
    const batch = createBatch(caller({ maxMs: 20 }), services);
    const error = await failure(batch.send(batch.users.wait()));
    expect(error).toMatchObject({ code: "deadline_exceeded", method: "screen.v1.Users/wait" });
    expect(seen.aborted).toEqual(["deadline_exceeded"]);
  });

  it("its signal cancels the calls in progress, and starts no more", async () => {
    const stop = new AbortController();
    const batch = createBatch(caller({ maxConcurrent: 1 }), services, { signal: stop.signal });
    const waiting = batch.start(batch.users.wait(), batch.users.get({ id: "ada" }));
    await expect.poll(() => seen.calls).toEqual(["wait"]);
    stop.abort();
    for (const promise of waiting) expect(await failure(promise)).toMatchObject({ code: "cancelled" });
    await expect.poll(() => seen.aborted).toEqual(["cancelled"]);
    expect(seen.calls).toEqual(["wait"]);
  });

  it("responses arrive as they come", async () => {
    const stop = new AbortController();
    const batch = createBatch(caller(), services, { signal: stop.signal });
    const [waited, user] = batch.start(batch.users.wait(), batch.users.get({ id: "ada" }));
    expect(await user).toMatchObject({ id: "ada" });
    stop.abort();
    await failure(waited);
  });
});

describe("misuse", () => {
  it("of a batch that was sent", async () => {
    const batch = createBatch(caller(), services);
    const user = batch.users.get({ id: "ada" });
    await batch.send(user);
    const text = "the batch was sent: create another one";
    expect(() => batch.users.get({ id: "ada" })).toThrow(`screen.v1.Users/get: ${text}`);
    expect(() => batch.each(user.tags, () => user)).toThrow(text);
    expect((await rejection(batch.send(user))).message).toContain(text);
  });

  it("of references", async () => {
    const batch = createBatch(caller(), services);
    const user = batch.users.get({ id: "ada" });
    const other = createBatch(caller(), services);
    expect(() => other.users.get({ id: user.id })).toThrow("screen.v1.Users/get has a reference of another batch");
    const noValue = "has no value before the batch is sent";
    expect(() => Number(user.id)).toThrow(noValue);
    expect(() => ({ ...user })).toThrow(noValue);
    expect(() => Array.from(user.tags as never)).toThrow(noValue);
    expect(() => "id" in user).toThrow(noValue);
    expect(() => Object.defineProperty(user, "id", { value: "eve" })).toThrow(noValue);
    expect(() => Object.getOwnPropertyDescriptor(user, "target")).toThrow(noValue);
    expect(() => delete (user as { id?: unknown }).id).toThrow(noValue);
    expect(() => Object.preventExtensions(user)).toThrow(noValue);
    expect(() => batch.users.older({ than: new Date(), karma: 1n, names: new Map([[user.id, 1]]) as never })).toThrow(
      /names|value|string|key/i,
    );
    expect(await (async () => user)()).toBe(user);
    expect((await rejection(batch.send("ada" as never))).message).toContain("send() takes references of its batch");
  });

  it("a printed reference shows no metadata", () => {
    const batch = createBatch(caller(), services, { metadata: { authorization: "Bearer secret" } });
    const reference = batch.users.get({ id: "ada" });
    expect(inspect(reference, { depth: 9 })).not.toContain("secret");
    expect(inspect(reference, { depth: 9, showHidden: true, showProxy: true })).not.toContain("secret");
  });

  it("of each()", () => {
    const batch = createBatch(caller(), services);
    const list = batch.posts.list({ author: "ada" });
    const one = "has to make one call of its batch";
    expect(() => batch.each(list.items, () => list)).toThrow(one);
    expect(() => batch.each(list.items, (item) => item)).toThrow(one);
    let leaked: unknown;
    batch.each(list.items, (item) => batch.users.get({ id: (leaked = item.author) as never }));
    expect(() => batch.users.get({ id: leaked as never })).toThrow("has an element of each()");
    expect(() =>
      batch.each(list.items, (item) => batch.each(item.likes, (like) => batch.users.get({ id: like }))),
    ).toThrow("each() within each()");
  });

  it("of an element in another each()", async () => {
    const batch = createBatch(caller(), services);
    const list = batch.posts.list({ author: "ada" });
    let leaked: unknown;
    batch.each(list.items, (item) => batch.users.get({ id: (leaked = item.author) as never }));
    expect(() => batch.each(list.items, () => batch.users.get({ id: leaked as never }))).toThrow(
      "has an element of each()",
    );
    await batch.send(list);
    expect(seen.calls).toHaveLength(4);
  });

  it("of each(): its call is not part of the batch", async () => {
    const batch = createBatch(caller(), services);
    const list = batch.posts.list({ author: "ada" });
    expect(() => batch.each(list.items, (item) => batch.users.get({ id: item.author }).name && list)).toThrow(
      "one call",
    );
    expect((await batch.send(list))[0].items).toHaveLength(3);
    expect(seen.calls).toEqual(["list ada"]);
  });

  it("of too many references", () => {
    const batch = createBatch(caller(), services);
    const user = batch.users.get({ id: "ada" });
    const many = Array.from({ length: 65 }, () => user);
    expect(() => batch.users.echo(many)).toThrow("screen.v1.Users/echo: the input has more than 64 references");
  });

  it("of methods that are not unary", () => {
    const batch = createBatch(caller(), services);
    const { watch } = batch.users as unknown as { readonly watch: () => void };
    expect(watch).toThrow(
      "screen.v1.Users/watch is server_stream, and a batch has only unary methods: call it by itself",
    );
  });

  it("of names of services", () => {
    expect(() => createBatch(caller(), { send: usersMethods })).toThrow("choose another name");
  });

  it("a server without batches: the error says what to add", async () => {
    const batch = createBatch(createLocalCaller(screenRouters()), services);
    const error = await failure(batch.send(batch.users.forget()));
    expect(error).toMatchObject({ code: "unimplemented", method: "quicrpc.v1.Batch/run" });
    expect(error.hint).toContain("give the router of quicrpc.v1.Batch");
  });

  it("an empty batch makes no call", async () => {
    expect(await createBatch(createLocalCaller(screenRouters()), services).send()).toEqual([]);
  });
});

async function rejection(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("it resolved"),
    (error: Error) => error,
  );
}
