import type { Path } from "./path.js";

declare const VALUE: unique symbol;

/** Stands for a value of type `T` in a response that does not exist yet. It fits wherever an input takes a `T`. */
export interface Pending<T> {
  readonly [VALUE]: T;
}

/**
 * A response, or a part of one, that does not exist yet. It has the properties of `T`; each of them is a reference too,
 * and becomes the value at the server. A property that may be undefined or null has to be asserted with `!`, where a
 * value is required.
 */
export type Reference<T> = Pending<T> & Parts<NonNullable<T>>;

/** A `URL`, whose type not every project has. */
interface UrlLike {
  readonly href: string;
  readonly searchParams: object;
}

/** Values without parts that a reference can name. */
type Whole =
  | string
  | number
  | bigint
  | boolean
  | symbol
  | Date
  | UrlLike
  | ArrayBuffer
  | ArrayBufferView
  | ReadonlyMap<never, unknown>
  | ReadonlySet<unknown>;

// biome-ignore format: one line for each case
type Parts<T> =
  unknown extends T ? unknown
  : T extends Whole ? unknown
  : T extends readonly (infer Item)[] ? { readonly [index: number]: Reference<Item> }
  : T extends object ? { readonly [Key in keyof T & string]: Part<T[Key]> }
  : unknown;

type Part<T> = unknown extends T ? Reference<T> : Reference<NonNullable<T>> | Extract<T, undefined | null>;

/** An input of type `T`, any part of which may be a reference to a value of its type. */
// biome-ignore format: one line for each case
export type BatchInput<T> =
  | Pending<T>
  | (unknown extends T ? T
    : T extends Whole ? T
    : T extends object ? { readonly [Key in keyof T]: BatchInput<T[Key]> }
    : T);

/** The place of a referenced value. */
export interface Target {
  /** The batch that created the reference. */
  readonly batch: object;
  /** Index of the step with the response; undefined for an element of `each`. */
  readonly step: number | undefined;
  /** Identifies the `each` of an element; undefined for a response. */
  readonly each?: object | undefined;
  readonly path: Path;
}

/** Property of references with their target, which only this module can read. */
const TARGET: unique symbol = Symbol("target");

/** Returns the target of a reference; undefined for any other value. */
export function targetOf(value: unknown): Target | undefined {
  return typeof value === "object" && value !== null ? (value as { [TARGET]?: Target })[TARGET] : undefined;
}

/** Creates a reference, whose properties are references to the parts of its value. */
export function createReference(target: Target): object {
  return new Proxy(new Holder(target), REFERENCES);
}

/** Has the target in a private field, which programs that print a reference do not show. */
class Holder {
  readonly #target: Target;

  constructor(target: Target) {
    this.#target = target;
  }

  static targetOf(holder: Holder): Target {
    return holder.#target;
  }
}

const misused = (): never => {
  throw new TypeError(
    "a reference of a batch has no value before the batch is sent: only pass it to calls, each() and send() of its batch",
  );
};

const REFERENCES: ProxyHandler<Holder> = {
  get(holder, key) {
    const target = Holder.targetOf(holder);
    if (key === TARGET) return target;
    // A reference is returned by asynchronous functions without being awaited.
    if (key === "then") return undefined;
    if (typeof key === "symbol") return key === Symbol.toPrimitive || key === Symbol.iterator ? misused() : undefined;
    const part = /^(0|[1-9]\d{0,8})$/.test(key) ? Number(key) : key;
    return createReference({ ...target, path: [...target.path, part] });
  },
  has: misused,
  ownKeys: misused,
  getOwnPropertyDescriptor: misused,
  set: misused,
  defineProperty: misused,
  deleteProperty: misused,
  getPrototypeOf: () => Object.prototype,
  setPrototypeOf: misused,
  preventExtensions: misused,
};
