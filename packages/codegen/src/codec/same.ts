import { typeText } from "../print/type-text.js";
import type { TypeNode } from "../types/node.js";
import { expression } from "./literals.js";
import { type CheckNode, constantOf, type SchemaNode, type Told } from "../schema/node.js";
import { codecParts } from "./parts.js";
import type { CodecPlan, NamedCodec, Use } from "./plan.js";

/** Finds codecs with identical code, so that it is printed once. */
export class SameCodecs {
  readonly #plan: CodecPlan;
  readonly #keys = new Map<SchemaNode, number | undefined>();
  /** A number for each distinct description. */
  readonly #numbers = new Map<string, number>();
  readonly #first = new Map<number, NamedCodec>();
  readonly #uses = new Map<NamedCodec, ReadonlySet<Use>>();

  constructor(plan: CodecPlan) {
    this.#plan = plan;
    for (const codec of plan.named.values()) {
      const key = codec.isShared ? undefined : this.#keyOf(codec.node);
      if (key === undefined) continue;
      const first = this.#first.get(key);
      if (first === undefined || (!first.hasCode && codec.hasCode)) this.#first.set(key, codec);
    }
    for (const codec of plan.named.values()) {
      const first = this.of(codec);
      this.#uses.set(first, new Set([...(this.#uses.get(first) ?? []), ...codec.uses]));
    }
  }

  /** Returns the directions in which `codec`, or any codec with the same code, is used. */
  usesOf(codec: NamedCodec): ReadonlySet<Use> {
    return this.#uses.get(codec) ?? codec.uses;
  }

  /** Returns the codec whose code `codec` uses, which is often `codec` itself. */
  of(codec: NamedCodec): NamedCodec {
    const key = codec.isShared ? undefined : this.#keyOf(codec.node);
    return (key === undefined ? undefined : this.#first.get(key)) ?? codec;
  }

  /** Returns a number that nodes with identical code share; undefined for a node that equals only itself, such as one that zod runs. */
  #keyOf(node: SchemaNode): number | undefined {
    if (this.#keys.has(node)) return this.#keys.get(node);
    // A recursive schema is identified by its name.
    this.#keys.set(node, undefined);
    const text = this.#describe(node);
    if (text === undefined) return undefined;
    const key = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, key);
    this.#keys.set(node, key);
    return key;
  }

  #describe(node: SchemaNode): string | undefined {
    const own = this.#body(node);
    if (own === undefined || isMade(node.told)) return undefined;
    const types = (["input", "output"] as const).map((direction) => this.#plan.typeOf(node, direction));
    const { optin, optout } = node;
    return types.every(isPlain)
      ? [node.kind, own, optin, optout, JSON.stringify(node.told), ...types.map(leafText)].join(" ")
      : undefined;
  }

  /** Returns all that distinguishes `node` from others of its kind, with numbers for its parts. */
  #body(node: SchemaNode): string | undefined {
    // Only zod, or the schema, has all information about these.
    if (node.kind === "refined" || node.kind === "external") return undefined;
    const hasValue = node.kind === "default" || node.kind === "prefault" || node.kind === "caught";
    const constant = hasValue ? constantOf(node) : undefined;
    if (hasValue && constant === undefined) return undefined;
    const parts = codecParts(node).map((part) => this.#keyOf(part));
    const { checks = [], values, regex, fields, others, keys, rest } = node as Facts;
    if (parts.includes(undefined) || checks.some(({ told }) => isMade(told))) return undefined;
    const options =
      node.kind === "discriminated"
        ? [node.key, ...node.options.map(([value, option]) => [expression(value), this.#keyOf(option)])]
        : undefined;
    return JSON.stringify(
      [
        parts,
        checks,
        values?.map(expression),
        regex,
        fields && Object.keys(fields),
        typeof others === "string" ? others : undefined,
        keys && { ...keys, fit: undefined },
        rest !== undefined,
        options,
        constant && expression(constant.value),
      ],
      (_key, value: unknown) =>
        value instanceof RegExp || typeof value === "bigint" ? `${typeof value} ${value}` : value,
    );
  }
}

/** Properties of some kinds of nodes, in addition to their parts. */
interface Facts {
  readonly checks?: readonly CheckNode[];
  readonly values?: readonly unknown[];
  readonly regex?: RegExp;
  readonly fields?: object;
  readonly others?: unknown;
  readonly keys?: object;
  readonly rest?: unknown;
}

/**
 * Returns true if a type is fully described by its structure. A type that only the schema determines may differ
 * although the code is the same.
 */
function isPlain(type: TypeNode): boolean {
  return type.kind !== "schema";
}

/** Returns a key that distinguishes types without parts. */
function leafText(type: TypeNode): string {
  return type.kind === "text" ? typeText(type) : type.kind;
}

/** Returns true if a message is created by a function, which belongs to one schema. */
function isMade(told: Told | undefined): boolean {
  return told !== undefined && !("text" in told);
}
