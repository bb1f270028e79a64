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
import { typedSchema } from "./schema/typed-schema.js";

/** A method as the page shows it. */
export interface ShownMethod {
  readonly service: string;
  readonly name: string;
  readonly kind: MethodDescription["kind"];
  /** Traits that calls of it may count on, in words. */
  readonly traits: readonly string[];
  /** Its permitted callers, as its schema says; undefined where that says nothing. */
  readonly permission: string | undefined;
  readonly docs: string | undefined;
  readonly takes: MessageForm;
  readonly gives: MessageForm;
  /** Schema of the text that is typed: without the fields that are blobs. */
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  /** The details of declared errors that have such, by the error's name. */
  readonly errors: Readonly<Record<string, JsonSchema>>;
  readonly streamsInput: boolean;
  readonly streamsOutput: boolean;
  readonly blobs: NonNullable<MethodDescription["blobs"]>;
  readonly descriptor: AnyMethod;
}

/** A service as the page shows it. */
export interface ShownService {
  readonly name: string;
  readonly docs: string | undefined;
  readonly methods: readonly ShownMethod[];
}

const ASK_MS = 15_000;

/** Services of the toolkit itself come last. */
function isOfToolkit(name: string): boolean {
  return name.startsWith("quicrpc.");
}

/** Asks a server what it serves: the application's services, then the toolkit's. Rejects with `RpcError` where it does not say. */
export async function loadCatalog(caller: Caller): Promise<readonly ShownService[]> {
  const { services } = await listed(caller);
  const shown = await Promise.all(
    services.map(async (service) => shownService(service, await detailsOf(caller, service.name))),
  );
  return [...shown.filter(({ name }) => !isOfToolkit(name)), ...shown.filter(({ name }) => isOfToolkit(name))];
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

/** Comments and schemas; undefined where the service's code is not generated. */
async function detailsOf(caller: Caller, service: string): Promise<ServiceDetails | undefined> {
  try {
    return await createReflectionClient(caller).describe({ service }, { timeoutMs: ASK_MS });
  } catch {
    return undefined;
  }
}

function shownService(service: ServiceDescription, details: ServiceDetails | undefined): ShownService {
  const byName = new Map(details?.methods.map((each) => [each.name, each]));
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

/** Says in words what a method promises of its calls. */
function traitsOf(method: MethodDescription): readonly string[] {
  const { idempotent, readOnly, once, resumable } = method;
  return [
    ...(readOnly === true ? ["read only"] : idempotent ? ["idempotent"] : []),
    ...(once === true ? ["takes effect once"] : []),
    ...(resumable === true ? ["resumable"] : []),
  ];
}

/** Says who may call a method, by the words of its metadata that `authorize` reads. */
function permissionOf(meta: MethodDescription["meta"]): string | undefined {
  const { auth, scopes } = meta ?? {};
  if (auth === "public") return "for everybody";
  if (Array.isArray(scopes) && scopes.length > 0) return `needs ${scopes.map(String).join(" and ")}`;
  return typeof auth === "string" ? `auth: ${auth}` : undefined;
}

/** The methods whose name, service or comment has each of the words. */
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
