import type { SchemaRoot } from "../source/schema-root.js";

/** A TypeScript type, before it is printed. */
export type TypeNode =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "schema"; readonly helper: "input" | "output"; readonly root: SchemaRoot; readonly access: string }
  | { readonly kind: "reference"; readonly target: NamedType; readonly direction: "input" | "output" }
  | { readonly kind: "array"; readonly element: TypeNode; readonly readonly: boolean }
  | {
      readonly kind: "tuple";
      readonly items: readonly { readonly type: TypeNode; readonly optional: boolean }[];
      readonly rest: TypeNode | undefined;
      readonly readonly: boolean;
    }
  | { readonly kind: "generic"; readonly name: string; readonly args: readonly TypeNode[] }
  | { readonly kind: "union"; readonly options: readonly TypeNode[] }
  /** The type of a `.brand<…>()`, with its names as a type. */
  | { readonly kind: "brand"; readonly names: string }
  | { readonly kind: "intersection"; readonly parts: readonly TypeNode[] }
  /** An object type with a property of the type `value` for each `key`. */
  | { readonly kind: "mapped"; readonly key: TypeNode; readonly value: TypeNode; readonly optional: boolean }
  | ObjectNode;

/** An object type. */
interface ObjectNode {
  readonly kind: "object";
  readonly fields: readonly FieldNode[];
  /** The type of all other keys. */
  readonly index: TypeNode | undefined;
}

/** One field of an object type. */
export interface FieldNode {
  readonly name: string;
  readonly optional: boolean;
  readonly type: TypeNode;
  readonly docs: string | undefined;
}

/** A type with a name, or with two names if the input and output types differ. */
export interface NamedType {
  readonly name: string;
  readonly docs: string | undefined;
  /** True if it is declared in the module that several files share. */
  readonly isShared: boolean;
  /** True if the author gave the name; otherwise it was made from the place of the first use. */
  readonly isGiven: boolean;
  differs: boolean;
}

/** An interface or type alias of a generated file. */
export interface Declaration {
  readonly name: string;
  /** The export of a schema module that contains the schema; undefined if there is none. */
  readonly root: SchemaRoot | undefined;
  readonly docs: string | undefined;
  readonly type: TypeNode;
}

/** Returns the name that is printed for a reference to the type. */
export function referenceName(target: NamedType, direction: "input" | "output"): string {
  return direction === "output" && target.differs ? `${target.name}Parsed` : target.name;
}

export function text(value: string): TypeNode {
  return { kind: "text", text: value };
}

export function generic(name: string, ...args: TypeNode[]): TypeNode {
  return { kind: "generic", name, args };
}

/** Returns the union of `options`, without nested unions and duplicates; `any` and `unknown` absorb the rest. */
export function union(options: readonly TypeNode[]): TypeNode {
  const flat = options.flatMap((option) => (option.kind === "union" ? option.options : [option]));
  for (const wide of ["any", "unknown"]) if (flat.some((each) => isText(each, wide))) return text(wide);
  const seen = new Set<string>();
  const kept = flat.filter((option) => {
    if (isText(option, "never")) return false;
    if (option.kind !== "text") return true;
    return !seen.has(option.text) && seen.add(option.text);
  });
  const [only] = kept;
  if (only === undefined) return text("never");
  return kept.length === 1 ? only : { kind: "union", options: kept };
}

export function isText(node: TypeNode, value: string): boolean {
  return node.kind === "text" && node.text === value;
}
