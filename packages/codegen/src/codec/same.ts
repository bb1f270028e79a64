import { typeText } from "../print/type-text.js";
import type { TypeNode } from "../types/node.js";
import { expression } from "./literals.js";
import {
  type CheckNode,
  constantOf,
  keyOf,
  othersOf,
  type SchemaNode,
  takesAnyKey,
  type Told,
} from "../schema/node.js";
import type { CodecPlan, NamedCodec, Use } from "./plan.js";

/** Finds the codecs of a plan that come to the same code, so that it is printed once. */
export class SameCodecs {
  readonly #plan: CodecPlan;
  readonly #keys = new Map<SchemaNode, number | undefined>();
  /** A number for each description. */
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

  /** The uses of the code of `codec` and of all codecs that are the same. */
  usesOf(codec: NamedCodec): ReadonlySet<Use> {
    return this.#uses.get(codec) ?? codec.uses;
  }

  /** The codec whose code is that of `codec`: often itself. */
  of(codec: NamedCodec): NamedCodec {
    const key = codec.isShared ? undefined : this.#keyOf(codec.node);
    return (key === undefined ? undefined : this.#first.get(key)) ?? codec;
  }

  /** A number that nodes share which come to the same; undefined for one that is only the same as itself, such as what zod runs. */
  #keyOf(node: SchemaNode): number | undefined {
    if (this.#keys.has(node)) return this.#keys.get(node);
    // A schema inside itself is told apart by its name.
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

  #body(node: SchemaNode): string | undefined {
    const all = (...parts: readonly (SchemaNode | undefined)[]): string | undefined => {
      const keys = parts.map((part) => (part === undefined ? -1 : this.#keyOf(part)));
      return keys.includes(undefined) ? undefined : keys.join();
    };
    const and = (keys: string | undefined, ...rest: readonly (string | undefined)[]): string | undefined =>
      keys === undefined || rest.includes(undefined) ? undefined : [keys, ...rest].join(" ");
    switch (node.kind) {
      case "string":
      case "number":
      case "bigint":
      case "date":
        return checkText(node.checks);
      case "boolean":
      case "bytes":
      case "null":
      case "undefined":
      case "any":
      case "never":
        return ".";
      case "literal":
        return `[${node.values.map(expression).join()}]`;
      case "template":
        return String(node.regex);
      case "object": {
        const others = othersOf(node);
        const rest = typeof others === "object" ? all(others) : others;
        return rest && and(all(...Object.values(node.fields)), rest, JSON.stringify(Object.keys(node.fields)));
      }
      case "array":
      case "set":
        return and(all(node.element), checkText(node.checks));
      case "map":
        return and(all(node.key, node.element), checkText(node.checks));
      case "tuple":
        return all(...node.items, node.rest);
      case "record":
        return and(
          all(node.element, takesAnyKey(node) ? undefined : keyOf(node)),
          JSON.stringify({ ...node.keys, fit: undefined }),
        );
      case "union":
        return all(...node.options);
      case "discriminated": {
        const values = node.options.map(([value]) => expression(value));
        return and(all(...node.options.map(([, option]) => option)), node.key, ...values);
      }
      case "intersection":
        return all(node.left, node.right);
      case "optional":
      case "exactOptional":
      case "nullable":
      case "nonOptional":
      case "frozen":
        return all(node.inner);
      case "default":
      case "prefault":
      case "caught": {
        const constant = constantOf(node);
        return constant && and(all(node.inner), expression(constant.value));
      }
      case "pipe":
        return all(node.from, node.to);
      default:
        return undefined;
    }
  }
}

/** Whether a type is known here by its structure: one that only its schema tells may be another with the same code. */
function isPlain(type: TypeNode): boolean {
  return type.kind !== "schema";
}

/** Returns the key by which types of scalars differ. Other types differ by their parts. */
function leafText(type: TypeNode): string {
  return type.kind === "text" ? typeText(type) : type.kind;
}

/** Whether a message is made by a function, which is the schema's own. */
function isMade(told: Told | undefined): boolean {
  return told !== undefined && !("text" in told);
}

function checkText(checks: readonly CheckNode[]): string | undefined {
  if (checks.some(({ told }) => isMade(told))) return undefined;
  return JSON.stringify(checks, (_key, value: unknown) =>
    value instanceof RegExp || typeof value === "bigint" ? `${typeof value} ${value}` : value,
  );
}
