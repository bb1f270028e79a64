import type { RpcError } from "../errors.js";
import type { StreamSource } from "../call/items/send-items.js";
import type { ItemStream } from "../call/items/item-stream.js";
import type { AnyMethod, MethodDescriptor, MethodKind } from "../contract/descriptor.js";
import { nearest } from "../nearest.js";
import type { AnswerCarrier, RequestHandler } from "../call/carrier.js";
import type { CallContext, IncomingContext } from "./context.js";
import type { DispatchSettings } from "./dispatch.js";

/** A value, or a promise that resolves with the value. */
export type Awaitable<T> = T | PromiseLike<T>;

type Handler<Method extends AnyMethod, Context> =
  Method extends MethodDescriptor<infer Kind, infer _Sent, infer Received, infer Returned, infer _Result>
    ? (input: HandlerInput<Kind, Received>, context: CallContext<Context>) => HandlerResult<Kind, Returned>
    : never;

type HandlerInput<Kind extends MethodKind, Received> = Kind extends "client_stream" | "duplex"
  ? ItemStream<Received>
  : Received;

type HandlerResult<Kind extends MethodKind, Returned> = Kind extends "unary" | "client_stream"
  ? Awaitable<Returned>
  : Kind extends "notify"
    ? Awaitable<void>
    : Awaitable<StreamSource<Returned>>;

/** Type of an object with a handler for each method of a service. */
export type Handlers<Methods extends Record<string, AnyMethod>, Context> = {
  [Name in keyof Methods]: Handler<Methods[Name], Context>;
};

/** An encoded message: `bytes[position, end)`. */
export interface MessageBytes {
  readonly bytes: Uint8Array;
  readonly position: number;
  readonly end: number;
}

/** One attempt of a resumable call: a request with the field `resume`. */
export interface AttemptRequest {
  readonly carrier: AnswerCarrier;
  readonly callId: number;
  readonly context: IncomingContext<unknown>;
  /** Value of the request field `resume`. The extension defines its format. */
  readonly resume: Uint8Array;
  readonly bound: BoundMethod;
  readonly settings: DispatchSettings<unknown>;
  /** Creates a dispatcher with other settings, to serve the call itself. */
  readonly dispatcher: (own: DispatchSettings<unknown>) => RequestHandler;
}

/** The server-side code of a call extension. */
export interface ServedExtension {
  /**
   * Called with the encoded message of a call after it was decoded and before the handler runs. Not called for methods
   * without input.
   *
   * @param encoding name of the message encoding, such as "msgpack"
   */
  readonly onMessage?:
    | ((context: IncomingContext<unknown>, encoding: string, message: MessageBytes) => void)
    | undefined;
  /** Serves one attempt of a resumable call, instead of the handler. Throws `RpcError` to refuse it. */
  readonly serveAttempt?: ((attempt: AttemptRequest) => void) | undefined;
}

export interface BoundMethod<Context = unknown> {
  readonly method: AnyMethod;
  // oxlint-disable-next-line typescript/no-explicit-any -- the table holds handlers of all types; the codecs vouch for them
  readonly handler: (input: any, context: CallContext<Context>) => unknown;
  readonly extension?: ServedExtension | undefined;
  /**
   * Runs only the interceptors that check permission, not the handler. Used for a request that is not a call, or whose
   * input cannot be decoded. Rejects if an interceptor refuses the request or responds itself. Undefined if no
   * interceptor checks permission.
   */
  readonly authorize?: ((context: CallContext<Context>) => Promise<void>) | undefined;
  /**
   * True if the method only carries other calls. Interceptors run for those calls, not for the method: otherwise a limit
   * of concurrent calls would count both, and each could wait for the other.
   */
  readonly carriesCalls?: boolean | undefined;
}

/**
 * Returns `method` with a handler that rejects with `error`, because the input cannot be decoded. A caller without
 * permission receives the permission error instead.
 */
export function refusing({ method, authorize }: BoundMethod, error: RpcError): BoundMethod {
  const handler = async (_: unknown, context: CallContext): Promise<never> => {
    await authorize?.(context);
    throw error;
  };
  return { method, handler };
}

/** The handlers of one or more services, to pass to `serve` or to a session. */
export interface Router<Context = unknown> {
  readonly methods: readonly BoundMethod<Context>[];
}

/**
 * Creates a router from the handlers of a service. Throws `TypeError` if a handler is missing, or if a plain object has
 * a function that is not the handler of a method. Class instances may have further methods.
 */
export function createRouter<Methods extends Record<string, AnyMethod>, Context = unknown>(
  methods: Methods,
  handlers: Handlers<Methods, Context>,
): Router<Context> {
  const bound = Object.entries(methods).map(([name, method]) => {
    const handler: unknown = handlers[name];
    if (typeof handler !== "function") {
      const unknownNames = Object.keys(handlers).filter((other) => !Object.hasOwn(methods, other));
      const similar = nearest(name, unknownNames);
      const suggestion = similar === undefined ? "" : `: is it ${similar}, which is not a method?`;
      throw new TypeError(`${method.service.name}/${name} has no handler${suggestion}`);
    }
    // Bound to `handlers`, because handlers may be methods of a class.
    const serve = handler.bind(handlers) as BoundMethod["handler"];
    return { method, handler: serve };
  });
  requireNoOthers(methods, handlers);
  return { methods: bound };
}

function requireNoOthers(methods: Record<string, AnyMethod>, handlers: object): void {
  const prototype: unknown = Object.getPrototypeOf(handlers);
  if (prototype !== Object.prototype && prototype !== null) return;
  const names = Object.keys(methods);
  for (const [name, value] of Object.entries(handlers)) {
    if (typeof value !== "function" || Object.hasOwn(methods, name)) continue;
    const service = methods[names[0] as string]?.service.name ?? "the service";
    const similar = nearest(name, names);
    const suggestion = similar === undefined ? `: its methods are ${names.join(", ")}` : `: did you mean ${similar}?`;
    throw new TypeError(`there is a handler for ${name}, which is not a method of ${service}${suggestion}`);
  }
}

/**
 * Combines routers into one. Throws `TypeError` if two routers serve the same method, or if two services have the same
 * id. A server with many sessions should call it once, not for each session.
 */
export function combineRouters<Context>(routers: readonly Router<Context>[]): Router<Context> {
  return MethodTable.of(routers);
}

/** Name of the reflection service of `@quicrpc/services`, which lists the served services and methods. */
const REFLECTION = "quicrpc.v1.Reflection";

/** The methods that a session serves, by service and method id. */
export class MethodTable<Context> implements Router<Context> {
  private static readonly empty: MethodTable<unknown> = new MethodTable([]);
  readonly methods: readonly BoundMethod<Context>[];
  readonly #byId: Map<number, BoundMethod<Context>> = new Map();
  readonly #serviceNames: Map<number, string> = new Map();
  /** Key of the last lookup; `#lastFound` is its result. Cached because consecutive calls often use the same method. */
  #lastKey = -1;
  #lastFound: BoundMethod<Context> | undefined = undefined;

  private constructor(methods: readonly BoundMethod<Context>[]) {
    this.methods = methods;
    for (const bound of methods) this.#add(bound);
  }

  /**
   * Returns a table of the methods of `routers`. Returns the only router itself if it is a table. Throws in the same
   * way as `combineRouters`.
   */
  static of<Context>(routers: readonly Router<Context>[]): MethodTable<Context> {
    const [first] = routers;
    if (first === undefined) return MethodTable.empty;
    if (routers.length === 1 && first instanceof MethodTable) return first;
    return new MethodTable(routers.flatMap(({ methods }) => methods));
  }

  find(serviceId: number, methodId: number): BoundMethod<Context> | undefined {
    const key = tableKey(serviceId, methodId);
    if (key !== this.#lastKey) {
      this.#lastFound = this.#byId.get(key);
      this.#lastKey = key;
    }
    return this.#lastFound;
  }

  /** Returns the name of the service with this id; undefined if it is not served. */
  serviceName(serviceId: number): string | undefined {
    return this.#serviceNames.get(serviceId);
  }

  /** Returns the names of all services if every caller may use reflection; otherwise an empty array. */
  reflectedServices(): readonly string[] {
    const reflection = this.methods.filter(({ method }) => method.service.name === REFLECTION);
    const isOpen = reflection.length > 0 && reflection.every(({ authorize }) => authorize === undefined);
    return isOpen ? Array.from(this.#serviceNames.values()) : [];
  }

  /** Returns the names of a service's methods if every caller may use reflection; otherwise an empty array. */
  reflectedMethods(service: string): readonly string[] {
    if (this.reflectedServices().length === 0) return [];
    return this.methods.filter(({ method }) => method.service.name === service).map(({ method }) => method.name);
  }

  #add(bound: BoundMethod<Context>): void {
    const { service, id, name } = bound.method;
    const present = this.#serviceNames.get(service.id);
    if (present !== undefined && present !== service.name) {
      throw new TypeError(`services ${present} and ${service.name} have the same id, ${service.id}`);
    }
    this.#serviceNames.set(service.id, service.name);
    const key = tableKey(service.id, id);
    const other = this.#byId.get(key);
    if (other?.method.name === name)
      throw new TypeError(
        `${service.name}/${name} has two handlers: two routers of this service are given, or one twice`,
      );
    if (other !== undefined)
      throw new TypeError(`${service.name}/${name} and ${other.method.name} have the same id, ${id}`);
    const { extension } = bound.method;
    if (extension !== undefined && bound.extension === undefined)
      throw new TypeError(`${service.name}/${name} is ${extension.name}: its router needs ${extension.servedBy}`);
    this.#byId.set(key, bound);
  }
}

/**
 * Combines a service id (16 bits) and a method id (14 bits) into one integer. Returns -1 for a larger method id, which
 * no method has.
 */
function tableKey(serviceId: number, methodId: number): number {
  return methodId <= 0x3fff ? (serviceId << 14) | methodId : -1;
}

/** Methods that the protocol itself serves on every session, without a router. */
export interface ReservedMethods {
  /** Returns the reserved method with these ids, or undefined. */
  find(serviceId: number, methodId: number): BoundMethod | undefined;
}
