import { type AnyMethod, type MessageCodec, rawCodec, type Router } from "@quicrpc/core";
import { createReflectionRouter, type MethodDescription, type ServiceDescription } from "./generated/reflection.js";

/** Serves quicrpc.v1.Reflection: what `routers` serve, and reflection itself. Anybody who may call it learns of every method. */
export function createReflection(routers: readonly Router[]): Router {
  let services: ServiceDescription[] | undefined;
  const reflection: Router = createReflectionRouter({
    list: () => {
      services ??= describeServices([...routers, reflection]);
      return { services };
    },
  });
  return reflection;
}

/** What routers serve, by service and method name. */
export function describeServices(routers: readonly Router[]): ServiceDescription[] {
  const services = new Map<string, ServiceDescription>();
  for (const { method } of routers.flatMap(({ methods }) => methods)) {
    const { name, id } = method.service;
    const service = services.get(name) ?? { name, id, methods: [] };
    services.set(name, service);
    service.methods.push(describeMethod(method));
  }
  const all = [...services.values()].sort(byName);
  for (const { methods } of all) methods.sort(byName);
  return all;
}

function describeMethod({ name, id, kind, idempotent, input, output, fingerprint }: AnyMethod): MethodDescription {
  return { name, id, kind, idempotent, takes: formOf(input), gives: formOf(output), fingerprint };
}

function formOf(codec: MessageCodec<unknown> | undefined): MethodDescription["takes"] {
  if (codec === undefined) return "nothing";
  return (codec as unknown) === rawCodec ? "bytes" : "value";
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
