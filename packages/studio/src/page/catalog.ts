import { type Caller, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import {
  createReflectionClient,
  describedMethod,
  type JsonSchema,
  type MessageForm,
  type MethodDescription,
  type ServiceDescription,
  type ServiceDetails,
} from "@quicrpc/services";
import { resolved } from "@quicrpc/services/json-schema";

export interface ShownMethod {
  readonly service: string;
  readonly name: string;
  readonly kind: MethodDescription["kind"];
  /** Guarantees of the method for its callers, as text. */
  readonly traits: readonly string[];
  /** Callers that the method's schema permits, as text. Undefined if the schema does not state them. */
  readonly permission: string | undefined;
  readonly docs: string | undefined;
  readonly takes: MessageForm;
  readonly gives: MessageForm;
  /** Schema of the input that the user types, without blob fields. */
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  /** JSON schemas of the details of declared errors, by error name. */
  readonly errors: Readonly<Record<string, JsonSchema>>;
  readonly streamsInput: boolean;
  readonly streamsOutput: boolean;
  readonly blobs: NonNullable<MethodDescription["blobs"]>;
  readonly descriptor: AnyMethod;
}

export interface ShownService {
  readonly name: string;
  readonly docs: string | undefined;
  readonly methods: readonly ShownMethod[];
}

const ASK_MS = 15_000;

/** Returns true if a service belongs to this toolkit. Such services are listed last. */
function isOfToolkit(name: string): boolean {
  return name.startsWith("quicrpc.");
}

/**
 * Loads the services of a server: first the application's, then those of this toolkit. Rejects with `RpcError` if the
 * server has no reflection.
 */
export async function loadCatalog(caller: Caller): Promise<readonly ShownService[]> {
  const { services } = await listed(caller);
  const described = await Promise.all(
    services.map(async (service) => shownService(service, await detailsOf(caller, service.name))),
  );
  return [...described.filter(({ name }) => !isOfToolkit(name)), ...described.filter(({ name }) => isOfToolkit(name))];
}

async function listed(caller: Caller): Promise<{ readonly services: readonly ServiceDescription[] }> {
  try {
    return await createReflectionClient(caller).list({ timeoutMs: ASK_MS });
  } catch (error) {
    const { code, message } = RpcError.from(error);
    if (code !== "unimplemented") throw error;
    throw new RpcError(
      code,
      `the server does not say what it serves. Mount reflection: routers: [...routers, createReflection(routers)], of @quicrpc/services. (${message})`,
    );
  }
}

/** Returns comments and schemas of a service. Undefined if the service has no generated code. */
async function detailsOf(caller: Caller, service: string): Promise<ServiceDetails | undefined> {
  try {
    return await createReflectionClient(caller).describe({ service }, { timeoutMs: ASK_MS });
  } catch {
    return undefined;
  }
}

function shownService(service: ServiceDescription, details: ServiceDetails | undefined): ShownService {
  const byName = new Map(details?.methods.map((method) => [method.name, method]));
  const methods = service.methods.map((method): ShownMethod => {
    const { name, kind, meta, takes, gives, blobs = {} } = method;
    const { docs, input, output, errors = {} } = byName.get(name) ?? {};
    return {
      service: service.name,
      name,
      kind,
      traits: traitsOf(method),
      permission: permissionOf(meta),
      docs,
      takes,
      gives: kind === "notify" ? "nothing" : gives,
      input: typedSchema(input, blobs.input),
      output,
      errors,
      streamsInput: kind === "client_stream" || kind === "duplex",
      streamsOutput: kind === "server_stream" || kind === "duplex",
      blobs,
      descriptor: describedMethod(service, method),
    };
  });
  return { name: service.name, docs: details?.docs, methods };
}

function traitsOf(method: MethodDescription): readonly string[] {
  const { idempotent, readOnly, once, resumable } = method;
  return [
    ...(readOnly === true ? ["read only"] : idempotent ? ["idempotent"] : []),
    ...(once === true ? ["takes effect once"] : []),
    ...(resumable === true ? ["resumable"] : []),
  ];
}

/** Returns a text that states who may call a method, from the metadata that `authorize` uses. */
function permissionOf(meta: MethodDescription["meta"]): string | undefined {
  const { auth, scopes } = meta ?? {};
  if (auth === "public") return "for everybody";
  if (Array.isArray(scopes) && scopes.length > 0) return `needs ${scopes.map(String).join(" and ")}`;
  return typeof auth === "string" ? `auth: ${auth}` : undefined;
}

/** Returns the methods that contain every word in their name, service name or comment. */
export function matching(services: readonly ShownService[], search: string): readonly ShownService[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return services;
  return services
    .map((service) => ({
      ...service,
      methods: service.methods.filter(({ name, docs = "" }) => {
        const text = `${service.name}/${name} ${docs}`.toLowerCase();
        return words.every((word) => text.includes(word));
      }),
    }))
    .filter(({ methods }) => methods.length > 0);
}

/**
 * Returns the schema of the part of a message that the user types. Blob fields are left out, because files are selected
 * for them.
 */
function typedSchema(
  schema: JsonSchema | undefined,
  fields: readonly { readonly name: string }[] = [],
): JsonSchema | undefined {
  const root = schema && fields.length > 0 ? resolved(schema, schema) : undefined;
  if (schema === undefined || root === undefined) return schema;
  const isBlob = (name: string): boolean => fields.some((field) => field.name === name);
  const { properties, required } = root;
  const typed = Object.entries((properties ?? {}) as JsonSchema).filter(([name]) => !isBlob(name));
  return {
    ...("$defs" in schema && { $defs: schema["$defs"] }),
    ...root,
    properties: Object.fromEntries(typed),
    required: Array.isArray(required) ? required.filter((name) => !isBlob(name as string)) : [],
  };
}
