import { type NameScope, pascalCase } from "../names.js";
import { ONE } from "../types/graph.js";
import { labelName } from "../types/naming.js";
import type { TypeNode } from "../types/node.js";
import type { Direction } from "../types/zod.js";
import { type CodecNode, partsOf } from "./node.js";
import { hasOwnCode, isCompiled, present } from "./compiled.js";

/** A node with a name: one writer, one reader and one shape, wherever it is used. */
export interface NamedCodec {
  /** What the names of its declarations are made of, as in `writeUser`. */
  readonly name: string;
  readonly node: CodecNode;
  /** Whether it has a writer and a reader of its own, or a shape only. */
  readonly hasCode: boolean;
  /** Whether a message as a whole is of this node. */
  isPayload: boolean;
}

/** The codecs of a file, in the order they were met. */
export class CodecPlan {
  readonly named: Map<CodecNode, NamedCodec> = new Map();
  readonly #coded = new Set<CodecNode>();
  readonly #shaped = new Set<CodecNode>();
  readonly #open = new Set<CodecNode>();
  readonly #scope: NameScope;
  readonly #typeOf: (schema: unknown, direction: Direction) => TypeNode;

  constructor(scope: NameScope, typeOf: (schema: unknown, direction: Direction) => TypeNode) {
    this.#scope = scope;
    this.#typeOf = typeOf;
  }

  typeOf(node: CodecNode, direction: Direction): TypeNode {
    return this.#typeOf(node.schema, direction);
  }

  /** Plans what a message needs, and gives the name of its codec. */
  payload(node: CodecNode, label: readonly string[]): string {
    this.#visit(node, label, true);
    const codec = this.#take(node, label, true);
    codec.isPayload = true;
    return codecName(codec);
  }

  /** @param code whether code is made for `node`, or a shape is all it needs */
  #visit(node: CodecNode, label: readonly string[], code: boolean): void {
    if (this.#open.has(node)) {
      // A shape inside itself needs a name.
      this.#take(node, label, code && hasOwnCode(node));
      return;
    }
    const seen = code ? this.#coded : this.#shaped;
    if (seen.has(node) || this.#coded.has(node)) return;
    seen.add(node);
    this.#open.add(node);
    const target = present(node);
    const isDone = code && (target !== node || isCompiled(node));
    if (isDone && hasOwnCode(node)) this.#take(node, label, true);
    else if (code && target === node && (node.kind === "refined" || !isDone)) this.#take(node, label, false);
    for (const [part, add] of labelled(node)) this.#visit(part, [...label, ...add], isDone);
    this.#open.delete(node);
  }

  #take(node: CodecNode, label: readonly string[], hasCode: boolean): NamedCodec {
    const known = this.named.get(node);
    if (known !== undefined && (known.hasCode || !hasCode)) return known;
    const type = this.#typeOf(node.schema, "input");
    const wanted = known?.name ?? (type.kind === "reference" ? type.target.name : labelName(label));
    const name = known?.name ?? this.#freeName(wanted);
    const codec: NamedCodec = { name, node, hasCode, isPayload: known?.isPayload ?? false };
    this.#scope.reserve(...namesOf(codec));
    this.named.set(node, codec);
    return codec;
  }

  #freeName(wanted: string): string {
    let name = wanted;
    for (let n = 2; this.#isTaken(name); n++) name = `${wanted}${n}`;
    return name;
  }

  #isTaken(name: string): boolean {
    return namesOf({ name }).some((each) => this.#scope.has(each));
  }
}

type Named = Pick<NamedCodec, "name">;

export function writerName({ name }: Named): string {
  return `write${name}`;
}

export function readerName({ name }: Named): string {
  return `read${name}`;
}

/** The reader of an object whose keys do not come as expected. */
export function anyOrderName(codec: Named): string {
  return `${readerName(codec)}InAnyOrder`;
}

export function shapeName({ name }: Named): string {
  return `${lowerFirst(name)}Shape`;
}

export function codecName({ name }: Named): string {
  return `${lowerFirst(name)}Codec`;
}

/** The function that runs the checks which are zod's to run. */
export function checksName({ name }: Named): string {
  return `check${name}`;
}

function namesOf(codec: Named): string[] {
  return [writerName, readerName, anyOrderName, shapeName, codecName, checksName].map((of) => of(codec));
}

function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

/** The parts of a node, with what their names add to its own. */
function labelled(node: CodecNode): [part: CodecNode, add: readonly string[]][] {
  switch (node.kind) {
    case "object": {
      const fields = node.fields.map((field): [CodecNode, string[]] => [field.node, [pascalCase(field.name)]]);
      return typeof node.others === "object" ? [...fields, [node.others, ["Value"]]] : fields;
    }
    case "array":
    case "set":
      return [[node.element, [ONE]]];
    case "tuple":
      return [
        ...node.items.map((item, index): [CodecNode, string[]] => [item, [String(index + 1)]]),
        ...(node.rest === undefined ? [] : [[node.rest, ["Rest"]] as [CodecNode, string[]]]),
      ];
    case "record":
      return [
        ...("fit" in node.keys ? [[node.keys.fit, ["Key"]] as [CodecNode, string[]]] : []),
        [node.element, ["Value"]],
      ];
    case "map":
      return [
        [node.key, ["Key"]],
        [node.element, ["Value"]],
      ];
    case "union":
    case "discriminated":
      return partsOf(node).map((option, index) => [option, [`Option${index + 1}`]]);
    case "intersection":
      return [
        [node.left, ["Left"]],
        [node.right, ["Right"]],
      ];
    default:
      return partsOf(node).map((part) => [part, []]);
  }
}
