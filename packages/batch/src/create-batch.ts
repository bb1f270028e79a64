import { type CallOptions, type Caller, json, RpcError } from "@quicrpc/core";
import { type AnyMethod, type MessageCodec, type MethodDescriptor, uncheckedCodec } from "@quicrpc/core/generated";
import {
  CALLER_LIMITS,
  callFailure,
  declaredError,
  type DecodeBudget,
  decodeWithin,
  type Deferred,
  deferred,
  fullName,
  isCode,
  unaryObstacle,
  readyToDecode,
} from "@quicrpc/core/internal";
import {
  type Answer,
  createBatchClient,
  type Failure,
  type Reference as PlanReference,
  type Source,
  type Step,
} from "./generated/batch.js";
import { encodeMessage } from "./limits.js";
import { isPlain, type Path, pathText, valueAt } from "./path.js";
import { type BatchInput, createReference, type Pending, type Reference, type Target, targetOf } from "./reference.js";

type Methods = Readonly<Record<string, AnyMethod>>;

/** The unary methods of a service, as functions that add a call to a batch and return a reference to its response. */
export type BatchedService<Service extends Methods> = {
  readonly [Name in keyof Service as Service[Name] extends AnyMethod<"unary"> ? Name : never]: BatchedMethod<
    Service[Name]
  >;
};

type BatchedMethod<Method> =
  Method extends MethodDescriptor<"unary", infer Sent, infer _Received, infer _Returned, infer Result>
    ? (
        ...input: [Sent] extends [void]
          ? []
          : undefined extends Sent
            ? [input?: BatchInput<Sent>]
            : [input: BatchInput<Sent>]
      ) => Reference<Result>
    : never;

/** The values of a tuple of references. */
type Values<References extends readonly Pending<unknown>[]> = {
  -readonly [Index in keyof References]: References[Index] extends Pending<infer Value> ? Value : never;
};

/** Calls that are made together, in one round trip. */
export type Batch<Services extends Readonly<Record<string, Methods>>> = {
  readonly [Name in keyof Services]: BatchedService<Services[Name]>;
} & BatchFunctions;

interface BatchFunctions {
  /**
   * Adds one call for each element of a list in a response.
   *
   * @param call adds the call for `element`; called once, at once
   * @returns a reference to the list of responses
   */
  each<Item, Response>(
    list: Pending<readonly Item[]>,
    call: (element: Reference<Item>) => Pending<Response>,
  ): Reference<Response[]>;
  /**
   * Sends the batch, once. Resolves with the values of `references` when all of its calls are over. Rejects with the
   * error of the first call that fails.
   */
  send<const References extends readonly Pending<unknown>[]>(...references: References): Promise<Values<References>>;
  /**
   * Sends the batch, once. Returns a promise for the value of each reference, which resolves as soon as the response
   * arrives. The failure of a call is reported only if a reference needs its response.
   */
  start<const References extends readonly Pending<unknown>[]>(
    ...references: References
  ): { [Index in keyof References]: Promise<Values<References>[Index]> };
}

/**
 * Creates a batch of calls, which are made in one round trip. A call may take parts of the responses of earlier calls.
 * The server needs `createBatches`.
 *
 * @param services the descriptors of each service's methods, such as `usersMethods` of generated code, by any names
 * @param options options of the one call that carries the batch: its deadline and signal hold for all calls, and each
 * has its metadata
 *
 * @example
 * const batch = createBatch(session, { users: usersMethods, posts: postsMethods });
 * const user = batch.users.get({ id });
 * const posts = batch.posts.list({ author: user.id });
 * const [ada, hers] = await batch.send(user, posts);
 */
export function createBatch<const Services extends Readonly<Record<string, Methods>>>(
  caller: Caller,
  services: Services,
  options?: CallOptions,
): Batch<Services> {
  const calls = new PlannedCalls(caller, options);
  const own: Record<keyof BatchFunctions, unknown> = {
    each: (list: unknown, call: (element: object) => unknown) => calls.each(list, call),
    send: (...references: unknown[]) => calls.send(references),
    start: (...references: unknown[]) => calls.start(references).promises,
  };
  const named = Object.entries(services).map(([name, methods]) => {
    if (Object.hasOwn(own, name))
      throw new TypeError(`a service of a batch cannot be named ${name}: choose another name`);
    const functions = Object.entries(methods).map(([method, descriptor]) => [
      method,
      (input: unknown): object => calls.add(descriptor, input),
    ]);
    return [name, Object.fromEntries(functions)];
  });
  return { ...Object.fromEntries(named), ...own } as Batch<Services>;
}

/** Maximum nesting of an input, as in messages. */
const MAX_DEPTH = 100;

/** Maximum number of references in an input. */
const MAX_REFERENCES = 64;

const unchecked = uncheckedCodec<unknown>();
const NOTHING = new Uint8Array(0);
const ignore = (): void => {};

/** The calls of a batch at its caller. */
class PlannedCalls {
  private readonly caller: Caller;
  private readonly options: CallOptions | undefined;
  private readonly steps: { readonly method: AnyMethod; step: Step }[] = [];
  private results: Result[] = [];
  /** Target of the element while the function of `each` runs. */
  private element: Target | undefined = undefined;
  private isSent = false;

  constructor(caller: Caller, options: CallOptions | undefined) {
    this.caller = caller;
    this.options = options;
  }

  add(method: AnyMethod, input: unknown): object {
    const name = fullName(method);
    this.requireOpen(name);
    const obstacle = unaryObstacle(method);
    if (obstacle !== undefined)
      throw new TypeError(`${name} is ${obstacle}, and a batch has only unary methods: call it by itself`);
    this.steps.push({ method, step: { method: name, ...this.encode(method, input, name) } });
    return createReference({ batch: this, step: this.steps.length - 1, path: [] });
  }

  each(list: unknown, call: (element: object) => unknown): object {
    this.requireOpen("each()");
    if (this.element !== undefined)
      throw new TypeError("each() within each() is not supported: use the list of responses");
    const each = this.sourceOf(list, "each()");
    const index = this.steps.length;
    this.element = { batch: this, step: undefined, each: {}, path: [] };
    let isComplete = false;
    try {
      const response = call(createReference(this.element));
      const target = targetOf(response);
      const added = this.steps[index];
      if (added === undefined || this.steps.length !== index + 1 || target?.step !== index || target.path.length > 0)
        throw new TypeError("the function of each() has to make one call of its batch, and return what that returns");
      added.step = { ...added.step, each };
      isComplete = true;
      return response as object;
    } finally {
      this.element = undefined;
      if (!isComplete) this.steps.length = index;
    }
  }

  async send(references: readonly unknown[]): Promise<unknown[]> {
    const { promises, over } = this.start(references);
    const values = await Promise.all([...promises, over]);
    return values.slice(0, promises.length);
  }

  start(references: readonly unknown[]): { readonly promises: Promise<unknown>[]; readonly over: Promise<unknown> } {
    this.requireOpen("send()");
    const targets = references.map((reference) => this.sourceOf(reference, "send()"));
    this.isSent = true;
    const sent = new Set(targets.map(({ step }) => step));
    const steps = this.steps.map(({ step }, index) => (sent.has(index) ? step : { ...step, silent: true }));
    this.results = this.steps.map(({ method }, index) => new Result(method, index, sent.has(index)));
    const over = this.run(steps);
    const promises = targets.map(({ step, path }) => {
      const result = this.results[step as number] as Result;
      const { promise } = result.response as Deferred<unknown>;
      return path.length === 0 ? promise : promise.then((value) => result.part(value, path));
    });
    for (const promise of [...promises, over]) promise.catch(ignore);
    return { promises, over };
  }

  private async run(steps: Step[]): Promise<void> {
    let failure: RpcError | undefined;
    try {
      if (steps.length > 0) {
        const items = createBatchClient(this.caller).run({ version: 1, steps }, this.options);
        for await (const { answers } of items)
          for (const answer of answers) {
            const error = this.results[answer.step]?.take(answer);
            failure ??= error;
          }
      }
    } catch (thrown) {
      failure = RpcError.from(thrown);
    }
    for (const result of this.results) result.end(failure);
    if (failure !== undefined) throw failure;
  }

  private requireOpen(used: string): void {
    if (this.isSent) throw new TypeError(`${used}: the batch was sent: create another one`);
  }

  private sourceOf(reference: unknown, user: string): Source & { readonly path: Path } {
    const target = targetOf(reference);
    if (target === undefined) throw new TypeError(`${user} takes references of its batch, which its calls return`);
    if (target.batch !== this) throw new TypeError(`${user} has a reference of another batch: await that batch first`);
    const { step, each, path } = target;
    if (step === undefined && (each !== this.element?.each || user.endsWith("()")))
      throw new TypeError(`${user} has an element of each(), which exists only in the function of that each()`);
    return step === undefined ? { path: [...path] } : { step, path: [...path] };
  }

  private encode({ input: codec }: AnyMethod, input: unknown, name: string): Partial<Step> {
    if (codec === undefined) return {};
    if (!hasReference(input, name)) return { message: encodeMessage((out) => codec.encode(input, out)) };
    const references: PlanReference[] = [];
    const template = this.template(input, [], references, name);
    if (references.length > MAX_REFERENCES)
      throw new RpcError("invalid_argument", `${name}: the input has more than ${MAX_REFERENCES} references`);
    return { template: encodeMessage((out) => json.encode(template, out)), references };
  }

  /**
   * Returns a copy of `value` with null in the places of references, which it adds to `references`.
   *
   * @param at path of `value` in the input
   */
  private template(value: unknown, at: (string | number)[], references: PlanReference[], name: string): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (targetOf(value) !== undefined) {
      references.push({ at: [...at], from: this.sourceOf(value, name) });
      return null;
    }
    const part = (item: unknown, key: string | number): unknown => {
      at.push(key);
      const copy = this.template(item, at, references, name);
      at.pop();
      return copy;
    };
    if (Array.isArray(value)) return value.map(part);
    if (!isPlain(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, part(item, key)]));
  }
}

/** Returns true if an input, or an item or property of an array or plain object inside it, is a reference. */
function hasReference(value: unknown, name: string, depth: number = 0): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (targetOf(value) !== undefined) return true;
  if (depth > MAX_DEPTH) throw new RpcError("invalid_argument", `${name}: the input is nested too deeply`);
  if (!Array.isArray(value) && !isPlain(value)) return false;
  for (const key in value) if (hasReference((value as Record<string, unknown>)[key], name, depth + 1)) return true;
  return false;
}

type ErrorFields = Pick<NonNullable<ConstructorParameters<typeof RpcError>[2]>, "reason" | "details">;

/** The response of a step, as its answers arrive. */
class Result {
  /** Undefined if the program does not ask for the response. */
  readonly response: Deferred<unknown> | undefined;
  private isOver = false;
  private readonly method: AnyMethod;
  private readonly index: number;
  private elements: unknown[] | undefined = undefined;
  private missing = 0;

  constructor(method: AnyMethod, index: number, isSent: boolean) {
    this.method = method;
    this.index = index;
    if (isSent) this.response = deferred();
  }

  /** Processes an answer. Returns its error. */
  take({ elements, element, message, failure }: Answer): RpcError | undefined {
    try {
      if (failure !== undefined) throw this.errorOf(failure, element);
      if (elements !== undefined) {
        this.elements = [];
        this.missing = elements;
      } else if (message !== undefined) this.add(message, element);
    } catch (thrown) {
      const error = thrown as RpcError;
      this.fail(error);
      return error;
    }
    if (this.elements !== undefined && this.missing === 0) this.complete(this.elements);
    return undefined;
  }

  /** Called when no more answers arrive. */
  end(failure: RpcError | undefined): void {
    if (this.isOver || this.response === undefined) return;
    this.fail(failure ?? new RpcError("internal", "the server ended the batch without this response"));
  }

  private complete(value: unknown): void {
    this.isOver = true;
    this.response?.resolve(value);
  }

  private fail(error: RpcError): void {
    this.isOver = true;
    this.response?.reject(error);
  }

  /** Returns a part of the response. Throws if a part that contains it is missing, as the server does. */
  part(value: unknown, path: Path): unknown {
    return valueAt(value, path, (place, key) => {
      const text = pathText(place) || "the value";
      return this.failed("failed_precondition", `${text} has no ${pathText([key])}`, undefined);
    });
  }

  private add(message: Uint8Array, element: number | undefined): void {
    let value: unknown;
    try {
      value = decoded(this.method.output, message);
    } catch (thrown) {
      const { code, message: text } = RpcError.from(thrown, "internal");
      throw this.failed(code, text, element);
    }
    if (element === undefined) this.complete(value);
    else if (this.elements !== undefined) {
      this.elements[element] = value;
      this.missing--;
    }
  }

  private errorOf({ code, message, reason, details }: Failure, element: number | undefined): RpcError {
    const { method } = this;
    const error = (fields?: ErrorFields): RpcError =>
      this.failed(isCode(code) ? code : "unknown", message, element, fields);
    const declared = reason === undefined ? undefined : declaredError(method, reason);
    try {
      if (declared !== undefined) return error({ reason, details: decoded(declared.details, details ?? NOTHING) });
    } catch {
      // The details do not match the schema of this side: they are decoded without it.
    }
    try {
      return error(details && { details: decoded(unchecked, details) });
    } catch {
      return error();
    }
  }

  private failed(
    code: RpcError["code"],
    message: string,
    element: number | undefined,
    fields: ErrorFields = {},
  ): RpcError {
    const { method, index } = this;
    const name = fullName(method);
    const place = element === undefined ? "" : `, element ${element}`;
    return callFailure(new RpcError(code, `${message} (step ${index} of the batch, ${name}${place})`, fields), name);
  }
}

/** Limits the memory and the validation of one response, as the default of `limits.maxSessionBytes` does. */
const DECODE_BUDGET: DecodeBudget = {
  max: CALLER_LIMITS.maxSessionBytes,
  room: CALLER_LIMITS.maxSessionBytes,
  refusal: () => new RpcError("resource_exhausted", "the response has too many values for a batch"),
};

function decoded(codec: MessageCodec<unknown> | undefined, message: Uint8Array): unknown {
  if (codec === undefined) return undefined;
  const { bytes, position, end } = readyToDecode(message);
  return decodeWithin(DECODE_BUDGET, codec, bytes, position, end);
}
