import type { NameScope } from "../names.js";
import { labelName, labelOf } from "../types/naming.js";
import type { TypeNode } from "../types/node.js";
import type { TypeTable } from "../types/declare.js";
import type { Direction } from "../types/zod.js";
import type { SchemaNode } from "../schema/node.js";
import { codecParts, codecPlaces } from "./parts.js";
import { checkedBy, hasOwnCode, isCompiled, present } from "./compiled.js";
import { codedOptions } from "./print-union.js";

/** A node with a name: it has one writer, one reader and one shape for all its uses. */
export interface NamedCodec {
  /** Stem of the names of its declarations, as in `writeUser`. */
  readonly name: string;
  readonly node: SchemaNode;
  /** Whether it has a writer and a reader, or only a shape. */
  readonly hasCode: boolean;
  /** Whether it is the node of a whole message. */
  isPayload: boolean;
  /** Whether such a message has a brand, which belongs to its method and not to its schema. */
  isBranded: boolean;
  /** Directions for which code is printed. */
  readonly uses: Set<Use>;
  /** True if it is in the module that several files share. */
  readonly isShared: boolean;
}

/** A direction in which one side handles a message. */
export type Use = "write" | "read";

/** Plans a codec in the module that several files share, and returns its name; undefined if the node is not shared. */
export type ShareCodec = (node: SchemaNode, label: readonly string[], use: Use | undefined) => string | undefined;

/** The codecs of a file, in the order of their first use. */
export class CodecPlan {
  readonly named: Map<SchemaNode, NamedCodec> = new Map();
  readonly #coded: Readonly<Record<Use, Set<SchemaNode>>> = { write: new Set(), read: new Set() };
  readonly #shaped = new Set<SchemaNode>();
  readonly #open = new Set<SchemaNode>();
  /** Nodes that are written, and read for the checks on what was written. */
  readonly #readBack: [node: SchemaNode, label: readonly string[]][] = [];
  /** The first place of each node whose shape is needed. */
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

  /** The names of the messages' codecs. */
  get messages(): string[] {
    return [...this.named.values()].filter(({ isPayload }) => isPayload).map((codec) => namesOf(codec).codec);
  }

  /** Returns true if the type of `node` has brands: the same code may then read values with different brands. */
  hasBrands(node: SchemaNode): boolean {
    return this.#types.hasBrands(node);
  }

  typeOf(node: SchemaNode, direction: Direction): TypeNode {
    return this.#types.typeOf(node, direction);
  }

  /** Plans the codec of a message, and returns its name. */
  payload(node: SchemaNode, label: readonly string[], uses: readonly Use[], isBranded: boolean): string {
    for (const use of uses) this.#visitAll(node, label, use);
    const codec = this.#take(node, label, uses);
    codec.isPayload = true;
    codec.isBranded ||= isBranded;
    return namesOf(codec).codec;
  }

  /** Plans the shared codec of a node, and returns its name. */
  share(node: SchemaNode, label: readonly string[], use: Use | undefined): string {
    this.#visitAll(node, label, use);
    return this.#take(node, label, use === undefined ? [] : [use]).name;
  }

  #visitAll(...root: Parameters<CodecPlan["share"]>): void {
    this.#visit(...root);
    for (let part = this.#readBack.pop(); part !== undefined; part = this.#readBack.pop()) this.#visit(...part, "read");
  }

  /**
   * @param use direction of the code; undefined if only a shape is needed
   * @param place place of `node` in another node
   */
  #visit(node: SchemaNode, label: readonly string[], use: Use | undefined, place?: string): void {
    const uses = use === undefined ? [] : [use];
    if (this.#open.has(node)) {
      // A recursive shape needs a name.
      this.#take(node, label, hasOwnCode(node) ? uses : []);
      return;
    }
    const seen = use === undefined ? this.#shaped : this.#coded[use];
    if (seen.has(node)) {
      // A shape that is also used in another place is declared once.
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
      // Later: a node that is open may be inside.
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

/** Returns true if the shape of a node consists of several shapes. */
function isComposite(node: SchemaNode): boolean {
  return node.kind === "object" || codecParts(node).length > 1;
}

type Declared = "writer" | "reader" | "keys" | "fields" | "shape" | "shapeMaker" | "codec" | "checks";

/** Returns the names of a codec's declarations. */
export function namesOf({ name }: Pick<NamedCodec, "name">): Readonly<Record<Declared, string>> {
  const lower = name.charAt(0).toLowerCase() + name.slice(1);
  return {
    writer: `write${name}`,
    reader: `read${name}`,
    // A constant with the keys of an object that is read.
    keys: `read${name}Keys`,
    // A constant with the fields of an object that is written and may have others.
    fields: `write${name}Names`,
    shape: `${lower}Shape`,
    // A function that creates the shape on demand.
    shapeMaker: `make${name}Shape`,
    codec: `${lower}Codec`,
    // A function that runs checks by zod.
    checks: `check${name}`,
  };
}
