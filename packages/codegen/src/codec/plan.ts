import type { NameScope } from "../names.js";
import { labelName, labelOf } from "../types/naming.js";
import type { TypeNode } from "../types/node.js";
import type { TypeTable } from "../types/declare.js";
import type { Direction } from "../types/zod.js";
import type { SchemaNode } from "../schema/node.js";
import { codecParts, codecPlaces } from "./parts.js";
import { checkedBy, hasOwnCode, isCompiled, present } from "./compiled.js";
import { codedOptions } from "./print-union.js";

/** A schema with one named writer, reader and shape for all its uses. */
export interface NamedCodec {
  /** The name without prefixes and suffixes: `User` for `writeUser` and `userShape`. */
  readonly name: string;
  readonly node: SchemaNode;
  readonly hasCode: boolean;
  /** True if the schema is that of a whole message. */
  isPayload: boolean;
  /** True if a message with this schema has a brand, which the method adds and the schema itself lacks. */
  isBranded: boolean;
  readonly uses: Set<Use>;
  readonly isShared: boolean;
}

export type Use = "write" | "read";

/**
 * Plans the codec of a schema in the shared module, and returns its name. Returns undefined if the schema is used in
 * one file only.
 */
export type ShareCodec = (node: SchemaNode, label: readonly string[], use: Use | undefined) => string | undefined;

/** The codecs to generate for a file, in the order of their first use. */
export class CodecPlan {
  readonly named: Map<SchemaNode, NamedCodec> = new Map();
  readonly #coded: Readonly<Record<Use, Set<SchemaNode>>> = { write: new Set(), read: new Set() };
  readonly #shaped = new Set<SchemaNode>();
  readonly #open = new Set<SchemaNode>();
  /**
   * Schemas whose values are written and then read back, because checks run on the value that the receiver would read.
   */
  readonly #readBack: [node: SchemaNode, label: readonly string[]][] = [];
  /** For each schema whose shape is needed, the position of its first use. */
  readonly #places = new Map<SchemaNode, string>();
  readonly #numbers = new Map<SchemaNode, number>();
  readonly #scope: NameScope;
  readonly #types: TypeTable;

  readonly #share: ShareCodec;

  constructor(scope: NameScope, types: TypeTable, share: ShareCodec = () => undefined) {
    this.#scope = scope;
    this.#types = types;
    this.#share = share;
  }

  get isEmpty(): boolean {
    return this.named.size === 0;
  }

  get messages(): string[] {
    return [...this.named.values()].filter(({ isPayload }) => isPayload).map((codec) => namesOf(codec).codec);
  }

  /** Returns true if the type of `node` has brands. The same code may then read values with different brands. */
  hasBrands(node: SchemaNode): boolean {
    return this.#types.hasBrands(node);
  }

  typeOf(node: SchemaNode, direction: Direction): TypeNode {
    return this.#types.typeOf(node, direction);
  }

  /** Plans the codec of a whole message, and returns its name. */
  payload(node: SchemaNode, label: readonly string[], uses: readonly Use[], isBranded: boolean): string {
    for (const use of uses) this.#visitAll(node, label, use);
    const codec = this.#take(node, label, uses);
    codec.isPayload = true;
    codec.isBranded ||= isBranded;
    return namesOf(codec).codec;
  }

  share(node: SchemaNode, label: readonly string[], use: Use | undefined): string {
    this.#visitAll(node, label, use);
    return this.#take(node, label, use === undefined ? [] : [use]).name;
  }

  #visitAll(...root: Parameters<CodecPlan["share"]>): void {
    this.#visit(...root);
    for (let part = this.#readBack.pop(); part !== undefined; part = this.#readBack.pop()) this.#visit(...part, "read");
  }

  /**
   * Plans the codecs that `node` and the schemas inside it need.
   * @param use direction of the generated code; undefined if only a shape is needed
   * @param place position of `node` in its parent, as a unique text
   */
  #visit(node: SchemaNode, label: readonly string[], use: Use | undefined, place?: string): void {
    const uses = use === undefined ? [] : [use];
    if (this.#open.has(node)) {
      // A recursive shape must have a name, to which it refers.
      this.#take(node, label, hasOwnCode(node) ? uses : []);
      return;
    }
    const seen = use === undefined ? this.#shaped : this.#coded[use];
    if (seen.has(node)) {
      // A shape that is used at several positions is declared once.
      const isAgain = place !== undefined && this.#places.get(node) !== place;
      if (use === undefined && isAgain && isComposite(node)) this.#take(node, label, []);
      return;
    }
    seen.add(node);
    if (use === undefined && place !== undefined) this.#places.set(node, place);
    const shared = hasOwnCode(node) ? this.#share(node, label, use) : undefined;
    if (shared !== undefined) {
      this.#take(node, label, uses, shared);
      return;
    }
    this.#open.add(node);
    const target = present(node);
    const isDone = use !== undefined && (target !== node || isCompiled(node));
    if (isDone && hasOwnCode(node)) this.#take(node, label, uses);
    else if (use !== undefined && target === node && (node.kind === "refined" || !isDone)) this.#take(node, label, []);
    const name = this.#nameOf(node);
    const base = name === undefined ? label : [name];
    const checked = node.kind === "refined" && use === "write" ? checkedBy(node) : "value";
    const partUse = isDone && checked !== undefined ? use : undefined;
    const coded =
      node.kind === "union" && partUse !== undefined
        ? new Set(codedOptions(node, partUse).map(({ option }) => option))
        : undefined;
    for (const [index, place] of codecPlaces(node).entries()) {
      const partLabel = [...base, ...labelOf(place, node)];
      const isReached = coded?.has(place.part) ?? true;
      this.#visit(place.part, partLabel, isReached ? partUse : undefined, `${this.#numberOf(node)}.${index}`);
      // Visited later, because the node may be inside one that is still being visited.
      if (checked === "reading") this.#readBack.push([place.part, partLabel]);
    }
    this.#open.delete(node);
  }

  #numberOf(node: SchemaNode): number {
    const number = this.#numbers.get(node) ?? this.#numbers.size;
    this.#numbers.set(node, number);
    return number;
  }

  #take(node: SchemaNode, label: readonly string[], uses: readonly Use[], shared?: string): NamedCodec {
    const known = this.named.get(node);
    for (const use of uses) known?.uses.add(use);
    const hasCode = uses.length > 0;
    if (known !== undefined && (known.hasCode || !hasCode)) return known;
    const wanted = this.#nameOf(node) ?? labelName(label);
    const codec: NamedCodec = {
      name: known?.name ?? shared ?? this.#freeName(wanted),
      node,
      hasCode,
      isPayload: known?.isPayload ?? false,
      isBranded: known?.isBranded ?? false,
      uses: new Set([...(known?.uses ?? []), ...uses]),
      isShared: shared !== undefined,
    };
    this.#scope.reserve(...Object.values(namesOf(codec)));
    this.named.set(node, codec);
    return codec;
  }

  #nameOf(node: SchemaNode): string | undefined {
    return this.#types.namedNode(node)?.name;
  }

  #freeName(wanted: string): string {
    let name = wanted;
    for (let n = 2; this.#isTaken(name); n++) name = `${wanted}${n}`;
    return name;
  }

  #isTaken(name: string): boolean {
    return Object.values(namesOf({ name })).some((each) => this.#scope.has(each));
  }
}

function isComposite(node: SchemaNode): boolean {
  return node.kind === "object" || codecParts(node).length > 1;
}

type Declared = "writer" | "reader" | "keys" | "fields" | "shape" | "shapeMaker" | "codec" | "checks";

export function namesOf({ name }: Pick<NamedCodec, "name">): Readonly<Record<Declared, string>> {
  const lower = name.charAt(0).toLowerCase() + name.slice(1);
  return {
    writer: `write${name}`,
    reader: `read${name}`,
    // Constant with the keys of an object, for its reader.
    keys: `read${name}Keys`,
    // Constant with the names of an object's fields, for the writer of an object with undeclared fields.
    fields: `write${name}Names`,
    shape: `${lower}Shape`,
    // Function that creates the shape when it is first needed.
    shapeMaker: `make${name}Shape`,
    codec: `${lower}Codec`,
    // Function that runs checks by zod.
    checks: `check${name}`,
  };
}
