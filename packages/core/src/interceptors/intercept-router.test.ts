import { expect, it } from "vitest";
import { defineMethod } from "../client/define-method.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { IncomingContext } from "../server/context.js";
import { createRouter, type Router } from "../server/router.js";
import { interceptRouter } from "./intercept-router.js";
import { RpcError } from "../errors.js";
import { concurrencyLimit } from "./concurrency-limit.js";
import { type Interceptor, withoutPermissionCheck } from "./interceptor.js";
import { logging } from "./logging.js";

const method = defineMethod({ name: "test.v1.Doors", id: 82 }, "unary", "open", { id: 1 });
const context = new IncomingContext<unknown>(method, undefined, undefined, {
  session: undefined as never,
  connection: undefined,
  limits: DEFAULT_LIMITS,
  onError: () => {},
});

function routerOf(entered: string[]): Router {
  return createRouter({ open: method }, { open: () => void entered.push("handler") });
}

it("authorize runs the interceptors of every layer, and not the handler", async () => {
  const entered: string[] = [];
  const named =
    (name: string): Interceptor =>
    (call, next) => {
      entered.push(name);
      return next(call);
    };
  const inner = interceptRouter(routerOf(entered), [named("third")]);
  const [bound] = interceptRouter(inner, [named("first"), named("second")]).methods;
  await bound?.authorize?.(context);
  expect(entered.splice(0)).toEqual(["first", "second", "third"]);
  await bound?.handler(undefined, context);
  expect(entered).toEqual(["first", "second", "third", "handler"]);
});

it("authorize is missing if no interceptor checks permission", () => {
  const limits = [concurrencyLimit({ maxCalls: 1 }), logging({ info() {}, warn() {}, error() {} })];
  for (const interceptors of [[], limits]) {
    expect(interceptRouter(routerOf([]), interceptors).methods[0]?.authorize).toBeUndefined();
  }
});

it("authorize skips interceptors that do not check permission", async () => {
  const entered: string[] = [];
  const enter: Interceptor = (call, next) => {
    entered.push("observer");
    return next(call);
  };
  const refuse: Interceptor = () => Promise.reject(new RpcError("permission_denied", "no"));
  const refusing = interceptRouter(routerOf(entered), [withoutPermissionCheck(enter), refuse]).methods[0];
  await expect(refusing?.authorize?.(context)).rejects.toMatchObject({ code: "permission_denied" });
  expect(entered).toEqual([]);
});
