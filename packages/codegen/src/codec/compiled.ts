import {
  constantOf,
  factOf,
  type NodeOf,
  optionsOf,
  type SchemaNode,
  takesAnyKey,
  withoutWrappers,
} from "../schema/node.js";
import { isTellable } from "./kinds.js";

const ABSENCE: ReadonlySet<string> = new Set("optional exactOptional default prefault caught nonOptional".split(" "));

/**
 * Returns the schema for values that are present, without wrappers for absence, defaults and fallbacks. The surrounding
 * object, or the shape, handles those.
 */
export function present(node: SchemaNode): SchemaNode {
  return withoutWrappers(node, ABSENCE);
}

/** Returns the schema inside a `nullable`, `frozen` or `refined` schema; undefined for other schemas. */
export function wrappedIn(node: SchemaNode): SchemaNode | undefined {
  return node.kind === "nullable" || node.kind === "frozen" || node.kind === "refined"
    ? present(node.inner)
    : undefined;
}

/**
 * Ends of the names of the runtime functions that read and write a kind of schema, such as "String" for `readString`
 * and `writeString`.
 */
const SCALARS: Readonly<Record<string, string>> = {
  string: "String",
  literal: "String",
  template: "String",
  number: "Number",
  bigint: "BigInt",
  date: "Date",
  boolean: "Boolean",
  bytes: "Bytes",
  null: "Nil",
  any: "Any",
};

/**
 * Returns the end of the names of the runtime functions that read and write a scalar, such as "Int" for `readInt`;
 * undefined for other schemas.
 */
export function scalarName(node: SchemaNode): string | undefined {
  if (node.kind === "number" && node.checks.some((check) => check.kind === "integer")) return "Int";
  return isCompiled(node) ? SCALARS[node.kind] : undefined;
}

/** Returns true if the schema has compiled code, false if its shape reads and writes it at run time. */
export function isCompiled(node: SchemaNode): boolean {
  if (node.kind === "literal") {
    return (
      node.values.length > 0 && node.values.every((value) => typeof value === "string") && isPlainEnum(node.entries)
    );
  }
  const inner = wrappedIn(node);
  if (node.kind === "bytes") return node.view === undefined;
  if (inner === undefined) return node.kind in SCALARS || hasOwnCode(node);
  return isCompiled(inner) && !(node.kind === "refined" && isConditional(inner));
}

/** Returns true if inlined code for `node` has to test the value, for example against a literal or a check. */
function isConditional(node: SchemaNode): boolean {
  if (node.kind === "nullable" || node.kind === "frozen") return isConditional(present(node.inner));
  if (node.kind === "literal" || node.kind === "template") return true;
  return node.kind in SCALARS && "checks" in node && node.checks.length > 0;
}

/**
 * Returns how a compiled writer runs the checks of a refined schema: "reading" if on the value that the receiver would
 * read, "value" if on the value itself; undefined if the writer is not compiled.
 */
export function checkedBy(node: NodeOf<"refined">): "reading" | "value" | undefined {
  if (!isCompiled(node)) return undefined;
  const inner = present(node.inner);
  return hasOwnCode(inner) ? "reading" : isScalar(inner) ? "value" : undefined;
}

function isScalar(node: SchemaNode): boolean {
  if (node.kind === "nullable" || node.kind === "frozen") return isScalar(present(node.inner));
  return !hasOwnCode(node) && node.kind !== "refined";
}

export function mayBeNumber(node: SchemaNode): boolean {
  if (node.kind === "union") return node.options.some(mayBeNumber);
  const inner = wrappedIn(node);
  if (inner !== undefined) return mayBeNumber(inner);
  return ["number", "bigint", "any"].includes(node.kind) || (!isCompiled(node) && node.kind !== "literal");
}

/** Returns true if `node` gets its own reader and writer function, instead of inlined code or its shape. */
export const hasOwnCode: (node: SchemaNode) => boolean = factOf(findOwnCode, false);

function findOwnCode(node: SchemaNode): boolean {
  switch (node.kind) {
    case "object":
      return (
        (typeof node.others === "string" || node.others.kind === "any") &&
        Object.keys(node.fields).every(
          (name) => !(name in Object.prototype) && new TextEncoder().encode(name).length < 0x100,
        )
      );
    case "array":
    case "set":
    case "map":
      return true;
    case "record":
      return takesAnyKey(node);
    case "tuple":
      return node.rest === undefined && node.items.every((item) => present(item) === item && item.kind !== "undefined");
    case "discriminated":
      return taggedOptions(node) !== undefined;
    case "union":
      if (taggedOptions(node) !== undefined) return true;
      return isTellable(node) && node.options.every((option) => present(option) === option && isCompiled(option));
    default:
      return false;
  }
}

interface TaggedOptions {
  readonly key: string;
  readonly options: ReturnType<typeof optionsOf>;
}

/**
 * Returns the options of a union of objects that are identified by a text, with a discriminator or without one: then no
 * more than one option can match. Returns undefined for other unions.
 */
export function taggedOptions(node: NodeOf<"discriminated" | "union">): TaggedOptions | undefined {
  if (node.kind === "discriminated") return tagged(node.key, optionsOf(node));
  const objects = node.options.filter((option) => option.kind === "object");
  const [first] = objects;
  if (first === undefined || objects.length < node.options.length) return undefined;
  for (const key of Object.keys(first.fields)) {
    const options = objects.map((option) => ({ values: literalsOf(option.fields[key]), node: option }));
    const found = tagged(key, options);
    if (found !== undefined) return found;
  }
  return undefined;
}

function tagged(key: string, options: TaggedOptions["options"]): TaggedOptions | undefined {
  const values = options.flatMap((option) => option.values);
  const areTexts = values.every((value) => typeof value === "string") && new Set(values).size === values.length;
  const areCoded = options.every(({ values, node }) => values.length > 0 && node.kind === "object" && hasOwnCode(node));
  return areTexts && areCoded ? { key, options } : undefined;
}

function literalsOf(field: SchemaNode | undefined): unknown[] {
  return field?.kind === "literal" ? [...field.values] : [];
}

/** Returns true for an object whose compiled code also reads and writes undeclared fields. */
export function isLoose(node: SchemaNode): boolean {
  return node.kind === "object" && typeof node.others === "object" && hasOwnCode(node);
}

/**
 * Returns true if the type of an enum consists of its values. The members of a TypeScript enum have their own types
 * instead.
 */
export function isPlainEnum(entries: Readonly<Record<string, unknown>> = {}): boolean {
  return Object.entries(entries).every(([key, value]) => key === value);
}

export type Presence = "required" | "optional" | "exactOptional" | "default";

/**
 * Returns how compiled code handles the absence of a field. In cases that it does not know, the field is required and
 * its shape handles the rest.
 */
export function presenceOf(node: SchemaNode): Presence {
  if (node.kind === "default" && constantOf(node)?.value !== undefined) return "default";
  // A nested default replaces the absent value, which only the shape does.
  if (node.optin === "defaulted") return "required";
  if (node.kind === "optional" || node.kind === "exactOptional") return node.kind;
  return node.kind === "nullable" && node.inner.kind === "optional" ? "optional" : "required";
}
