import { type AnyMethod, type BlobFields, type MessageCodec, bytesCodec } from "@quicrpc/core/generated";
import { type Router, RpcError } from "@quicrpc/core";
import { checkOptions } from "@quicrpc/core/internal";
import {
  createReflectionRouter,
  type JsonObject,
  type MethodDescription,
  type ServiceDescription,
  type ServiceDetails,
} from "./generated/reflection.js";

/** Options of `createReflection`. */
export interface ReflectionOptions {
  /**
   * If true, callers without authentication may use the service: `authorize` permits it, as with `meta: { auth:
   * "public" }` in a schema. Tools then find public methods such as a login. Everyone with a session can list all
   * methods. Default false.
   */
  readonly public?: boolean | undefined;
}

/**
 * Creates the service quicrpc.v1.Reflection, which describes the services of `routers` and itself. Anyone who may call
 * it can list every method.
 */
export function createReflection(routers: readonly Router<never>[], options: ReflectionOptions = {}): Router {
  checkOptions("createReflection()", options, { public: true });
  let services: ServiceDescription[] | undefined;
  const router = createReflectionRouter({
    list: () => {
      services ??= describeServices([...routers, reflection]);
      return { services };
    },
    describe: ({ service }) => detailsOf(service, [...routers, reflection]),
  });
  const reflection: Router = options.public === true ? { methods: router.methods.map(withoutAuthentication) } : router;
  return reflection;
}

/** Returns a copy of a method that `authorize` permits without authentication. */
function withoutAuthentication({ method, ...rest }: Router["methods"][number]): Router["methods"][number] {
  return { ...rest, method: { ...method, meta: { ...method.meta, auth: "public" } } };
}

/** Returns descriptions of the services of routers, sorted by service and method name. */
export function describeServices(routers: readonly Router<never>[]): ServiceDescription[] {
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

/** Returns the details that generated code provides for tools. Their code is loaded on first use. */
async function detailsOf(name: string, routers: readonly Router<never>[]): Promise<ServiceDetails> {
  const bound = routers.flatMap(({ methods }) => methods).find(({ method }) => method.service.name === name);
  if (bound === undefined) throw new RpcError("not_found", `the service ${name} is not served here`);
  const tooling = await bound.method.service.tooling?.();
  if (tooling === undefined)
    throw new RpcError("not_found", `the service ${name} has no schemas, because its code is not generated`);
  const methods = Object.entries(tooling.methods).map(([method, { docs, input, output, errors }]) => ({
    name: method,
    docs,
    input: input as JsonObject | undefined,
    output: output as JsonObject | undefined,
    errors: errors as Readonly<Record<string, JsonObject>> | undefined,
  }));
  return { docs: tooling.docs, methods, snapshot: tooling.snapshot as JsonObject };
}

function describeMethod({
  name,
  id,
  kind,
  idempotent,
  readOnly,
  extension,
  input,
  output,
  fingerprint,
  meta,
  blobs,
}: AnyMethod): MethodDescription {
  const documentation = meta as JsonObject | undefined;
  const messages = { takes: formOf(input), gives: formOf(output) };
  return {
    name,
    id,
    kind,
    idempotent,
    ...(readOnly && { readOnly: true }),
    ...(extension?.name === "once" && { once: true }),
    ...(extension?.name === "resumable" && { resumable: true }),
    ...messages,
    fingerprint,
    meta: documentation,
    ...(blobs && { blobs: { input: fieldsOf(blobs.fields.input), output: fieldsOf(blobs.fields.output) } }),
  };
}

function fieldsOf(fields: BlobFields["input"]): NonNullable<MethodDescription["blobs"]>["input"] {
  return fields?.map((field) => ({ ...field }));
}

function formOf(codec: MessageCodec<unknown> | undefined): MethodDescription["takes"] {
  if (codec === undefined) return "nothing";
  return (codec as unknown) === bytesCodec ? "bytes" : "value";
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
