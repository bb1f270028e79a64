import type { SchemaRoot } from "../source/schema-root.js";
import type { AnySchema } from "../types/zod.js";

/** How to reach a schema at run time: an export of the schema module, and the keys to go through. */
export interface SchemaPath {
  readonly root: SchemaRoot;
  readonly keys: readonly (string | number)[];
}

/** A message that the schema's author gave: a text, or a function, of the schema itself or of its check with that number. */
export type Told = { readonly text: string } | { readonly check: number | undefined };

/** A condition on a value, as zod's own checks have it. */
export type CheckNode = Condition & { readonly told?: Told };

type Condition =
  | { readonly kind: "minSize" | "maxSize" | "exactSize"; readonly size: number }
  | { readonly kind: "atLeast" | "atMost" | "moreThan" | "lessThan"; readonly bound: number | bigint | Date }
  | { readonly kind: "integer"; readonly least?: number; readonly most?: number }
  | { readonly kind: "multipleOf"; readonly step: number | bigint }
  | { readonly kind: "pattern"; readonly regex: RegExp; readonly format: string }
  | { readonly kind: "includes"; readonly part: string; readonly position: number | undefined }
  | { readonly kind: "startsWith" | "endsWith"; readonly part: string };

/** A schema, as far as a codec needs to know it. */
export type CodecNode = { readonly schema: AnySchema; readonly at: SchemaPath; readonly told?: Told } & NodeBody;

export type NodeBody =
  | { kind: "string" | "number" | "bigint" | "date"; checks: readonly CheckNode[] }
  | { kind: "boolean" | "bytes" | "nil" | "nothing" | "any" | "never" }
  | { kind: "literal"; values: readonly unknown[] }
  | { kind: "template"; regex: RegExp }
  | { kind: "object"; fields: readonly FieldNode[]; others: "strip" | "strict" | "loose" | CodecNode }
  | { kind: "array" | "set"; element: CodecNode; checks: readonly CheckNode[] }
  | { kind: "tuple"; items: readonly CodecNode[]; rest: CodecNode | undefined }
  | { kind: "record"; keys: RecordKeysNode; element: CodecNode }
  | { kind: "map"; key: CodecNode; element: CodecNode; checks: readonly CheckNode[] }
  | { kind: "union"; options: readonly CodecNode[] }
  | { kind: "discriminated"; key: string; options: readonly { values: readonly unknown[]; node: CodecNode }[] }
  | { kind: "intersection"; left: CodecNode; right: CodecNode }
  | { kind: "optional" | "exactOptional" | "nullable" | "nonOptional" | "frozen"; inner: CodecNode }
  | { kind: "default" | "prefault" | "caught"; inner: CodecNode; value: DefaultValue }
  | { kind: "pipe"; from: CodecNode; to: CodecNode }
  /** Checks that only zod can run, on what `inner` results in. */
  | { kind: "refined"; inner: CodecNode }
  /** Left to zod whole. `given` is what it takes, where the wire says less than that. */
  | { kind: "external"; given: CodecNode | undefined }
  /** Being built: a schema inside itself. */
  | { kind: "open" };

export interface FieldNode {
  readonly name: string;
  readonly node: CodecNode;
}

/** How a record treats its keys. */
export type RecordKeysNode =
  | { readonly kind: "any" }
  | { readonly kind: "exactly" | "among"; readonly names: readonly string[]; readonly fit: CodecNode }
  | { readonly kind: "fit"; readonly fit: CodecNode };

/** A default: the same each time, or made anew by the schema. */
type DefaultValue = { readonly kind: "constant"; readonly value: unknown } | { readonly kind: "made" };

/** The nodes directly inside `node`. */
export function partsOf(node: CodecNode): CodecNode[] {
  switch (node.kind) {
    case "object":
      return [...node.fields.map((field) => field.node), ...(typeof node.others === "object" ? [node.others] : [])];
    case "array":
    case "set":
      return [node.element];
    case "tuple":
      return [...node.items, ...(node.rest === undefined ? [] : [node.rest])];
    case "record":
      return [...("fit" in node.keys ? [node.keys.fit] : []), node.element];
    case "map":
      return [node.key, node.element];
    case "union":
      return [...node.options];
    case "discriminated":
      return node.options.map((option) => option.node);
    case "intersection":
      return [node.left, node.right];
    case "optional":
    case "exactOptional":
    case "nullable":
    case "nonOptional":
    case "frozen":
    case "default":
    case "prefault":
    case "caught":
    case "refined":
      return [node.inner];
    case "pipe":
      return [node.from, node.to];
    case "external":
      return node.given === undefined ? [] : [node.given];
    default:
      return [];
  }
}
