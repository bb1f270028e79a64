import { quoted, templateText } from "../print/text.js";
import type { Brand } from "../source/brands.js";
import type { SchemaRoot } from "../source/schema-root.js";
import {
  arrayType,
  type ObjectField,
  generic,
  intersectionType,
  type NamedType,
  objectType,
  plainNames,
  readonlyType,
  text,
  tupleType,
  type TypeNode,
  unionType,
} from "./node.js";
import { isBlob } from "../blobs.js";
import { isPlainEnum } from "../codec/compiled.js";
import {
  canonicalNode,
  fieldsOf,
  innerNodes,
  isFunction,
  keyOf,
  type NodeOf,
  optionsOf,
  ownStructure,
  type SchemaNode,
} from "../schema/node.js";
import { isOptional, mayBeUndefined } from "../schema/optional.js";
import type { AnySchema, Direction } from "./zod.js";

export interface ConversionContext {
  readonly known: Readonly<Record<Direction, Map<SchemaNode, TypeNode>>>;
  /** Returns the named type of a schema; undefined if its type has no name. */
  named(schema: SchemaNode): NamedType | undefined;
  /**
   * Returns a path to a schema for a type expression: an export, and the property accesses that lead from it to the
   * schema.
   */
  expression(schema: AnySchema): { readonly root: SchemaRoot; readonly access: string };
  fieldDocs(object: SchemaNode, field: string, schema: SchemaNode, direction: Direction): string | undefined;
  brands(parent: SchemaNode, slot: string): readonly Brand[];
  isBranded(parent: SchemaNode): boolean;
}

/** Returns the type of a schema: a reference by name, if the type has one. */
export function typeOf(node: SchemaNode, direction: Direction, context: ConversionContext): TypeNode {
  const known = context.known[direction].get(node);
  if (known !== undefined) return known;
  if (isBlob(node.schema)) return generic(direction === "input" ? "BlobSource" : "ReceivedBlob");
  const target = context.named(node);
  const type: TypeNode =
    target === undefined
      ? definitionOf(node, direction, context)
      : { print: (names) => names.named(target, direction), opaque: "named" };
  context.known[direction].set(node, type);
  return type;
}

export function branded(type: TypeNode, brands: readonly Brand[], direction: Direction): TypeNode {
  const other = direction === "input" ? "out" : "in";
  const made = brands
    .filter(({ side }) => side !== other)
    .map((brand): TypeNode => ({ print: (names) => names.brand(brand.names) }));
  return made.length === 0 ? type : intersectionType(type, ...made);
}

/** Returns the type of a schema written out. Nested types with names are references. */
export function definitionOf(node: SchemaNode, direction: Direction, context: ConversionContext): TypeNode {
  const of = (part: SchemaNode, slot: string): TypeNode =>
    branded(typeOf(part, direction, context), context.brands(node, slot), direction);
  const inner = (part: SchemaNode): TypeNode => of(part, "inner");
  switch (node.kind) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
    case "null":
    case "never":
      return text(node.kind);
    // zod has the types `any` and `unknown` for this kind.
    case "any":
    case "undefined":
      return text(node.type);
    case "date":
      return text("Date");
    case "bytes":
      return text(node.view ?? "Uint8Array");
    case "object":
      return convertObject(node, direction, context);
    case "array":
      return arrayType(of(node.element, "element"));
    case "tuple": {
      const lastRequired = node.items.findLastIndex((item) => !isOptional(item, direction));
      return tupleType(
        node.items.map((item, index) => ({ type: of(item, `items.${index}`), optional: index > lastRequired })),
        node.rest && of(node.rest, "rest"),
      );
    }
    case "record": {
      const partial = node.partial === true || (direction === "input" && isOptional(node.element, "input"));
      const [key, value] = [of(keyOf(node), "key"), of(node.element, "element")];
      return recordType(key, value, partial, isCircular(canonicalNode(node)));
    }
    case "map":
      return generic("Map", of(node.key, "key"), of(node.element, "element"));
    case "set":
      return generic("Set", of(node.element, "element"));
    case "literal":
      // The members of a TypeScript enum have types of their own, which differ from their values.
      return isPlainEnum(node.entries) ? unionType(node.values.map(literal)) : schemaType(node, "output", context);
    case "union":
      return unionType(node.options.map((option, index) => of(option, `options.${index}`)));
    case "discriminated":
      return unionType(optionsOf(node).map((option, index) => of(option.node, `options.${index}`)));
    case "intersection":
      return intersectionType(of(node.left, "left"), of(node.right, "right"));
    case "optional":
      return unionType([inner(node.inner), text("undefined")]);
    case "nullable":
      return unionType([inner(node.inner), text("null")]);
    case "default":
      return direction === "input" ? unionType([inner(node.inner), text("undefined")]) : defined(node.inner, inner);
    case "prefault":
      return direction === "input" ? unionType([inner(node.inner), text("undefined")]) : inner(node.inner);
    case "nonOptional":
      return defined(node.inner, inner);
    case "exactOptional":
    case "caught":
      return inner(node.inner);
    case "success":
      return direction === "input" ? inner(node.inner) : text("boolean");
    case "frozen":
      return readonlyType(inner(node.inner));
    case "refined":
      if (node.inner.schema === node.schema) return definitionOf(node.inner, direction, context);
      return node.type === "lazy" ? of(node.inner, "lazy") : typeOf(node.inner, direction, context);
    case "external":
      // A schema with coercion accepts any value.
      return direction === "input" && node.coerces ? text("unknown") : definitionOf(node.structure, direction, context);
    case "pipe": {
      const part = direction === "input" ? node.from : node.to;
      // Only zod's types state what a function accepts and returns.
      if (isFunction(part)) return schemaType(node, direction, context);
      return of(part, direction === "input" ? "from" : "to");
    }
    case "template":
      return text(
        `\`${(node.parts ?? []).map((part) => templatePart(part, (each) => typeOf(each, direction, context))).join("")}\``,
      );
    case "custom":
      return schemaType(node, "output", context);
    case "transform":
      return direction === "input" ? text("unknown") : schemaType(node, direction, context);
    default:
      return text("unknown");
  }
}

/** Returns true if a schema contains itself without an object in between, whose interface could refer to itself. */
function isCircular(node: SchemaNode): boolean {
  const inside = new Set(innerNodes(node).map(canonicalNode));
  for (const part of inside)
    if (ownStructure(part).kind !== "object") for (const each of innerNodes(part)) inside.add(canonicalNode(each));
  return inside.has(node);
}

/**
 * Returns the type of a record.
 * @param circular true if the record contains itself. TypeScript resolves the arguments of `Record` immediately, but
 * the types of properties later
 */
function recordType(key: TypeNode, value: TypeNode, partial: boolean, circular: boolean): TypeNode {
  if (circular && !partial && key.text === "string") return objectType([], value);
  if (circular)
    return { print: (names) => `{ [K in ${key.print(names)}]${partial ? "?" : ""}: ${value.print(names)} }` };
  const record = generic("Record", key, value);
  return partial ? generic("Partial", record) : record;
}

function convertObject(node: NodeOf<"object">, direction: Direction, context: ConversionContext): TypeNode {
  const fields = fieldsOf(node).map(
    ({ name, node: child }): ObjectField => ({
      name,
      optional: isOptional(child, direction),
      type: branded(typeOf(child, direction, context), context.brands(node, `fields.${name}`), direction),
      docs: context.fieldDocs(node, name, child, direction),
    }),
  );
  const { others } = node;
  const index =
    typeof others === "string"
      ? undefined
      : branded(typeOf(others, direction, context), context.brands(node, "others"), direction);
  if (fields.length === 0 && index === undefined) return generic("Record", text("string"), text("never"));
  return objectType(fields, index);
}

/** Returns the type by `z.input` or `z.output`, for schemas whose type only the compiler can determine. */
function schemaType({ schema }: SchemaNode, direction: Direction, context: ConversionContext): TypeNode {
  const { root, access } = context.expression(schema);
  return { print: (names) => names.schema(direction, root, access), opaque: "inferred" };
}

function literal(value: unknown): TypeNode {
  // TypeScript has no literal types for the infinities and NaN.
  if (typeof value === "number" && !Number.isFinite(value)) return text("number");
  return text(typeof value === "bigint" ? `${value}n` : typeof value === "string" ? quoted(value) : String(value));
}

function templatePart(part: string | SchemaNode, of: (part: SchemaNode) => TypeNode): string {
  return typeof part === "string" ? templateText(part) : `\${${templateType(part, of).print(plainNames)}}`;
}

/**
 * Returns the type of a part of a template literal. If the part is optional, it may be empty; TypeScript would write
 * "undefined".
 */
function templateType(part: SchemaNode, of: (part: SchemaNode) => TypeNode): TypeNode {
  if (part.kind === "optional" || part.kind === "exactOptional")
    return unionType([templateType(part.inner, of), text('""')]);
  if (part.kind === "nullable") return unionType([templateType(part.inner, of), text("null")]);
  return of(part);
}

function defined(inner: SchemaNode, of: (part: SchemaNode) => TypeNode): TypeNode {
  const type = of(inner);
  if (type.options !== undefined) return unionType(type.options.filter((option) => option.text !== "undefined"));
  if (type.text === "undefined") return text("never");
  const isOpaque = type.opaque === "inferred" || (type.opaque === "named" && mayBeUndefined(inner));
  return isOpaque ? generic("Exclude", type, text("undefined")) : type;
}
