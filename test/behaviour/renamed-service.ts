import type { AnyMethod } from "@quicrpc/core/generated";
import type { Router } from "@quicrpc/core";

/** Returns the same method in another service, for a test that serves it in addition to the usual services. */
function renamed<Method extends AnyMethod>(method: Method): Method {
  const { name, id } = method.service;
  return { ...method, service: { name: `${name}.renamed`, id: id + 100 } };
}

export function renamedMethods<Methods extends Record<string, AnyMethod>>(methods: Methods): Methods {
  return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, renamed(method)])) as Methods;
}

export function renamedRouter(router: Router): Router {
  return { methods: router.methods.map((bound) => ({ ...bound, method: renamed(bound.method) })) };
}
