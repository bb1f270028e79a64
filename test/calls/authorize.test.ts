import { authorize, createLocalCaller, interceptRouter, RpcError } from "@quicrpc/core";
import { createRouter, defineMethod } from "@quicrpc/core/generated";
import { expect, it } from "vitest";
import { failure } from "../behaviour/tools.js";

const service = { name: "test.v1.Guarded", id: 4715 };
const m = {
  open: defineMethod(service, "unary", "open", { id: 1, meta: { auth: "public" } as object }),
  own: defineMethod(service, "unary", "own", { id: 2 }),
  write: defineMethod(service, "unary", "write", {
    id: 3,
    meta: { scopes: ["orders:read", "orders:write"] },
  }),
  slip: defineMethod(service, "unary", "slip", { id: 4, meta: { scopes: "orders:write" } as object }),
  both: defineMethod(service, "unary", "both", { id: 5, meta: { auth: "public", scopes: ["a"] } as object }),
  watch: defineMethod(service, "server_stream", "watch", { id: 6, meta: { scopes: ["orders:read"] } }),
};
const nothing = (): void => {};
const handlers = { open: nothing, own: nothing, write: nothing, slip: nothing, both: nothing, watch: () => [] };
const guard = authorize<string[] | undefined>({ scopesOf: ({ context }) => context.connection });
const router = interceptRouter(createRouter(m, handlers), [guard]);
const callerWith = (scopes?: string[]) => createLocalCaller([router], { connection: scopes, onError: () => {} });

it("lets everybody call what is public, and who is known what says nothing", async () => {
  await callerWith().unary(m.open, undefined);
  await callerWith([]).unary(m.own, undefined);
  expect(await failure(callerWith().unary(m.own, undefined))).toMatchObject({ code: "unauthenticated" });
});

it("wants all scopes, and names those that are missing", async () => {
  await callerWith(["orders:write", "orders:read", "more"]).unary(m.write, undefined);
  expect(await failure(callerWith(["orders:read"]).unary(m.write, undefined))).toMatchObject({
    code: "permission_denied",
    message: "test.v1.Guarded/write needs orders:write",
  });
  const watching = (async () => {
    for await (const _ of callerWith([]).serverStream(m.watch, undefined));
  })();
  expect(await failure(watching)).toMatchObject({ code: "permission_denied" });
});

it("permits nothing where the schema is wrong", async () => {
  for (const method of [m.slip, m.both]) {
    const error = await failure(callerWith(["a", "orders:write"]).unary(method, undefined));
    expect(error).toMatchObject({ code: "internal" });
    expect(error).toBeInstanceOf(RpcError);
  }
});

it("asks the application where it says what a method needs", async () => {
  const own = authorize({
    scopesOf: () => ["reader"],
    permissionOf: ({ name }) => [name === "own" ? "reader" : "writer"],
  });
  const caller = createLocalCaller([interceptRouter(createRouter(m, handlers), [own])]);
  await caller.unary(m.own, undefined);
  expect(await failure(caller.unary(m.open, undefined))).toMatchObject({ code: "permission_denied" });
});
