import { quoted, templateText } from "../print/text.js";
import { typeText } from "../print/type-text.js";
import type { Brand } from "../source/brands.js";
import type { SchemaRoot } from "../source/schema-root.js";
import { type FieldNode, generic, isText, type NamedType, text, type TypeNode, union } from "./node.js";
import { isOptional, mayBeUndefined } from "./optional.js";
import { isBlob } from "../blobs.js";
import { isCircular } from "./circular.js";
import { isUint8Array } from "./support.js";
import {
  type AnySchema,
  canonical,
  childrenOf,
  defOf,
  type Direction,
  fieldSlot,
  hasTrait,
  isZodSchema,
  lazyTarget,
  shapeOf,
} from "./zod.js";

/** The file, as the conversion of schemas into types needs to know it. */
export interface ConversionContext {
  /** The types that were made already. */
  readonly known: Readonly<Record<Direction, Map<AnySchema, TypeNode>>>;
  /** The named type of a schema, when it has one. */
  named(schema: AnySchema): NamedType | undefined;
  /** How to reach a schema in a type expression: an export and what to add to its type. */
  expression(schema: AnySchema): { readonly root: SchemaRoot; readonly access: string };
  fieldDocs(object: AnySchema, field: string, schema: AnySchema, direction: Direction): string | undefined;
  /** The brands of a part of a schema. */
  brands(parent: AnySchema, slot: string): readonly Brand[];
}

const KEYWORDS: Readonly<Record<string, string>> = {
  string: "string",
  number: "number",
  int: "number",
  bigint: "bigint",
  boolean: "boolean",
  date: "Date",
  null: "null",
  undefined: "undefined",
  void: "void",
  any: "any",
  unknown: "unknown",
  never: "never",
  success: "boolean",
};

/** The type of `schema`: its name when it has one. */
export function typeOf(schema: unknown, direction: Direction, context: ConversionContext): TypeNode {
  if (!isZodSchema(schema)) return text("unknown");
  const known = context.known[direction].get(schema);
  if (known !== undefined) return known;
  if (isBlob(schema)) return generic(direction === "input" ? "BlobSource" : "ReceivedBlob");
  const target = context.named(canonical(schema));
  const type: TypeNode =
    target === undefined ? definitionOf(schema, direction, context) : { kind: "reference", target, direction };
  context.known[direction].set(schema, type);
  return type;
}

/** `type` with those of `brands` that it has in `direction`. */
export function branded(type: TypeNode, brands: readonly Brand[], direction: Direction): TypeNode {
  const other = direction === "input" ? "out" : "in";
  const names = brands.filter(({ side }) => side !== other);
  return names.length === 0
    ? type
    : { kind: "intersection", parts: [type, ...names.map((each): TypeNode => ({ kind: "brand", names: each.names }))] };
}

/** Whether a part of `schema` has a brand. */
export function hasBrands(schema: AnySchema, context: ConversionContext, seen: Set<AnySchema>): boolean {
  if (seen.has(schema)) return false;
  seen.add(schema);
  return childrenOf(schema).some(
    ({ slot, schema: part }) =>
      context.brands(schema, slot).length > 0 || (isZodSchema(part) && hasBrands(part, context, seen)),
  );
}

/** The type of `schema` written out, its parts by name where they have one. */
export function definitionOf(schema: AnySchema, direction: Direction, context: ConversionContext): TypeNode {
  const def = defOf(schema);
  const of = (child: unknown, slot: string): TypeNode =>
    branded(typeOf(child, direction, context), context.brands(schema, slot), direction);
  const inner = (child: unknown): TypeNode => of(child, "innerType");
  // A coerced schema takes anything.
  if (direction === "input" && "coerce" in def && def.coerce) return text("unknown");
  switch (def.type) {
    case "object":
      return objectType(schema, direction, context);
    case "array":
      return { kind: "array", element: of(def.element, "element"), readonly: false };
    case "tuple": {
      const optional = def.items.map((item) => isOptional(item, direction));
      const lastRequired = optional.lastIndexOf(false);
      return {
        kind: "tuple",
        items: def.items.map((item, index) => ({
          type: of(item, `["items"][${index}]`),
          optional: index > lastRequired,
        })),
        rest: def.rest ? of(def.rest, `["rest"]`) : undefined,
        readonly: false,
      };
    }
    case "record": {
      const partial = def.partial === true || (direction === "input" && isOptional(def.valueType, "input"));
      return recordType(
        of(def.keyType, `["keyType"]`),
        of(def.valueType, `["valueType"]`),
        partial,
        isCircular(schema),
      );
    }
    case "map":
      return generic("Map", of(def.keyType, `["keyType"]`), of(def.valueType, `["valueType"]`));
    case "set":
      return generic("Set", of(def.valueType, "valueType"));
    case "enum":
      return enumType(schema, context);
    case "literal":
      return union(def.values.map(literal));
    case "union":
      return union(def.options.map((option, index) => of(option, `["options"][${index}]`)));
    case "intersection":
      return { kind: "intersection", parts: [of(def.left, `["left"]`), of(def.right, `["right"]`)] };
    case "optional":
      return hasTrait(schema, "$ZodExactOptional")
        ? inner(def.innerType)
        : union([inner(def.innerType), text("undefined")]);
    case "nullable":
      return union([inner(def.innerType), text("null")]);
    case "default":
      return direction === "input" ? union([inner(def.innerType), text("undefined")]) : defined(def.innerType, inner);
    case "prefault":
      return direction === "input" ? union([inner(def.innerType), text("undefined")]) : inner(def.innerType);
    case "nonoptional":
      return defined(def.innerType, inner);
    case "catch":
      return inner(def.innerType);
    case "success":
      return direction === "input" ? inner(def.innerType) : text("boolean");
    case "readonly":
      return readonlyType(inner(def.innerType));
    case "lazy":
      return of(lazyTarget(schema), "lazy");
    case "pipe":
      return pipeType(def.in, def.out, schema, of, direction, context);
    case "template_literal":
      return text(
        `\`${def.parts.map((part) => templatePart(part, (child) => typeOf(child, direction, context))).join("")}\``,
      );
    case "custom":
      return isUint8Array(schema) ? text("Uint8Array") : schemaType(schema, "output", context);
    case "transform":
      return direction === "input" ? text("unknown") : schemaType(schema, direction, context);
    default:
      return text(KEYWORDS[def.type] ?? "unknown");
  }
}

/** @param circular whether it is inside itself: TypeScript resolves what `Record` is given at once, and the types of properties later */
function recordType(key: TypeNode, value: TypeNode, partial: boolean, circular: boolean): TypeNode {
  if (circular && !partial && isText(key, "string")) return { kind: "object", fields: [], index: value };
  if (circular) return { kind: "mapped", key, value, optional: partial };
  const record = generic("Record", key, value);
  return partial ? generic("Partial", record) : record;
}

function objectType(schema: AnySchema, direction: Direction, context: ConversionContext): TypeNode {
  const def = defOf(schema);
  const fields: FieldNode[] = [];
  for (const [name, child] of shapeOf(schema)) {
    if (!isZodSchema(child)) continue;
    fields.push({
      name,
      optional: isOptional(child, direction),
      type: branded(typeOf(child, direction, context), context.brands(schema, fieldSlot(name)), direction),
      docs: context.fieldDocs(schema, name, child, direction),
    });
  }
  const catchall = def.type === "object" ? def.catchall : undefined;
  const index =
    catchall === undefined
      ? undefined
      : branded(typeOf(catchall, direction, context), context.brands(schema, `["catchall"]`), direction);
  const others = index === undefined || isText(index, "never") ? undefined : index;
  if (fields.length === 0 && others === undefined) return generic("Record", text("string"), text("never"));
  return { kind: "object", fields, index: others };
}

function pipeType(
  from: AnySchema,
  to: AnySchema,
  pipe: AnySchema,
  of: (child: unknown, slot: string) => TypeNode,
  direction: Direction,
  context: ConversionContext,
): TypeNode {
  if (direction === "input") {
    // What a preprocessing function takes may be narrower than unknown.
    return defOf(from).type === "transform" ? schemaType(pipe, direction, context) : of(from, "in");
  }
  return defOf(to).type === "transform" ? schemaType(pipe, direction, context) : of(to, "out");
}

/** The type as zod itself infers it, for what cannot be known without running the compiler. */
function schemaType(schema: AnySchema, direction: Direction, context: ConversionContext): TypeNode {
  return { kind: "schema", helper: direction, ...context.expression(schema) };
}

function enumType(schema: AnySchema, context: ConversionContext): TypeNode {
  const def = defOf(schema);
  if (def.type !== "enum") return text("never");
  const entries = Object.entries(def.entries);
  // Where keys and values differ it may be a TypeScript enum, whose members are types of their own.
  if (entries.some(([key, value]) => key !== value)) return schemaType(schema, "output", context);
  return union(entries.map(([, value]) => literal(value)));
}

function literal(value: unknown): TypeNode {
  // TypeScript has no literal types for infinities and NaN.
  if (typeof value === "number" && !Number.isFinite(value)) return text("number");
  return text(typeof value === "bigint" ? `${value}n` : typeof value === "string" ? quoted(value) : String(value));
}

function templatePart(
  part: AnySchema | string | number | bigint | boolean | null | undefined,
  of: (child: unknown) => TypeNode,
): string {
  if (isZodSchema(part)) return `\${${typeText(templateType(part, of))}}`;
  return part === undefined ? "" : templateText(String(part));
}

/** The type of a part of a template: a part that is optional may be left out, where TypeScript would write "undefined". */
function templateType(part: AnySchema, of: (child: unknown) => TypeNode): TypeNode {
  const def = defOf(part);
  if (def.type === "optional") return union([templateType(def.innerType, of), text('""')]);
  if (def.type === "nullable") return union([templateType(def.innerType, of), text("null")]);
  return of(part);
}

function defined(inner: AnySchema, of: (child: unknown) => TypeNode): TypeNode {
  const type = of(inner);
  if (type.kind === "union") return union(type.options.filter((option) => !isText(option, "undefined")));
  if (isText(type, "undefined")) return text("never");
  const opaque = type.kind === "schema" || (type.kind === "reference" && mayBeUndefined(inner));
  return opaque ? generic("Exclude", type, text("undefined")) : type;
}

function readonlyType(type: TypeNode): TypeNode {
  switch (type.kind) {
    case "array":
    case "tuple":
      return { ...type, readonly: true };
    case "union":
      return union(type.options.map(readonlyType));
    case "generic":
      return type.name === "Map" || type.name === "Set"
        ? { ...type, name: `Readonly${type.name}` }
        : type.name.startsWith("Readonly")
          ? type
          : generic("Readonly", type);
    case "text":
      return isText(type, "unknown") ? generic("Readonly", type) : type;
    default:
      return generic("Readonly", type);
  }
}
