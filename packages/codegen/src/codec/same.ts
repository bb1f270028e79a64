import type { SchemaNode } from "../schema/node.js";
import type { CodecPlan, NamedCodec, Use } from "./plan.js";
import { shapeExpression } from "./print-shape.js";

/** Finds codecs that would have identical code, so that it is generated once. */
export class SameCodecs {
  readonly #plan: CodecPlan;
  readonly #keys = new Map<SchemaNode, number | undefined>();
  /** A number for each distinct description of a schema. */
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

  /** Returns the directions in which a codec, or one with identical code, is used. */
  usesOf(codec: NamedCodec): ReadonlySet<Use> {
    return this.#uses.get(codec) ?? codec.uses;
  }

  /** Returns the codec whose code `codec` uses, which is often `codec` itself. */
  of(codec: NamedCodec): NamedCodec {
    const key = codec.isShared ? undefined : this.#keyOf(codec.node);
    return (key === undefined ? undefined : this.#first.get(key)) ?? codec;
  }

  /**
   * Returns a number that is equal for schemas with identical code; undefined for a schema whose code cannot be shared,
   * such as one that zod runs.
   */
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
    let isOwn = false;
    const own = (): string => {
      isOwn = true;
      return "";
    };
    const shape = shapeExpression(node, {
      patternName: String,
      // Details that only the zod schema contains distinguish the code.
      schema: own,
      partShape: (part) => (isOwn ? "" : (this.#keyOf(part)?.toString() ?? own())),
    });
    if (isOwn) return undefined;
    const types = (["input", "output"] as const).map((direction) => this.#plan.typeOf(node, direction));
    // A type that zod infers may differ although the code is identical.
    if (types.some(({ opaque }) => opaque === "inferred")) return undefined;
    return [shape, node.optin, node.optout, ...types.map(({ text, opaque }) => text ?? opaque)].join(" ");
  }
}
