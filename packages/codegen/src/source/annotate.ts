import { type Expression, type SourceNode, ts } from "./compiler.js";
import { ownStructure, type Place, placesOf } from "../schema/node.js";
import { nodeOf } from "../schema/read.js";
import { type AnySchema, canonical, isZodSchema } from "../types/zod.js";
import { type Brand, brandsOf } from "./brands.js";
import { literalProperties, returned } from "./object-literal.js";
import { jsDocOf, type SchemaSource, unwrapExpression } from "./source-file.js";

/**
 * Information from the source of schema modules: the syntax node of each schema, the constant that contains it, and the
 * comments of its fields.
 */
export interface Annotations {
  readonly nodes: Map<unknown, SourceNode>;
  readonly constants: Map<unknown, string>;
  /** Comments of constants that contain schemas, by schema. */
  readonly constantDocs: Map<unknown, string>;
  readonly fieldDocs: Map<AnySchema, Map<string, string>>;
  /** Brands of the schemas nested in a schema, by slot. `WHOLE` is the slot of a message as a whole. */
  readonly brands: Map<object, Map<string, readonly Brand[]>>;
}

export function emptyAnnotations(): Annotations {
  return { nodes: new Map(), constants: new Map(), constantDocs: new Map(), fieldDocs: new Map(), brands: new Map() };
}

/** Names of zod's functions and methods that wrap a schema in another one, with the type of the wrapper. */
const WRAPPERS: Readonly<Record<string, string>> = {
  array: "array",
  set: "set",
  optional: "optional",
  exactOptional: "optional",
  nullable: "nullable",
  default: "default",
  _default: "default",
  prefault: "prefault",
  catch: "catch",
  nonoptional: "nonoptional",
  readonly: "readonly",
  lazy: "lazy",
};

/**
 * Visits an expression together with the schema that it has created, and records what the source says about each nested
 * schema. Stops if the two do not correspond, for example because a function has created the schema.
 */
export function annotate(
  source: SchemaSource,
  expression: Expression | undefined,
  schema: unknown,
  into: Annotations,
): void {
  if (expression === undefined) return;
  const written = unwrapExpression(expression);
  if (!into.nodes.has(schema)) into.nodes.set(schema, written);
  else if (isZodSchema(schema)) return;
  if (!isZodSchema(schema)) return;
  if (ts.isIdentifier(written)) {
    const target = source.resolve(written);
    if (target === undefined) return;
    if (!into.constants.has(schema)) into.constants.set(schema, written.text);
    noteDocs(target, schema, into);
    into.nodes.delete(schema);
    annotate(source, target, schema, into);
    // Mistakes inside a constant are reported at the constant, and mistakes about the schema as a whole where it is
    // used.
    return;
  }
  if (!ts.isCallExpression(written)) return;
  const callee = written.expression;
  const name = ts.isPropertyAccessExpression(callee) ? callee.name.text : callee.getText();
  const receiver = ts.isPropertyAccessExpression(callee) ? unwrapExpression(callee.expression) : undefined;
  const onSchema = receiver !== undefined && !isNamespace(source, receiver);
  const [first, second] = written.arguments;
  const { type } = nodeOf(schema);

  if (name in WRAPPERS && WRAPPERS[name] === type) {
    const [child] = placesIn(schema);
    const inner = onSchema ? receiver : name === "lazy" && first !== undefined ? returned(first) : first;
    annotateChild(source, inner, schema, child, into);
  } else if (name === "nullish" && onSchema) {
    const [nullable] = placesIn(schema);
    if (nullable !== undefined)
      annotateChild(source, receiver, nullable.part.schema, placesIn(nullable.part.schema)[0], into);
  } else if (name === "pipe" && onSchema && type === "pipe") {
    const [from, to] = placesIn(schema);
    annotateChild(source, receiver, schema, from, into);
    annotateChild(source, first, schema, to, into);
  } else if (onSchema) {
    // The method has added a check, a description or a brand: it has returned the schema itself or a copy.
    const original = schema._zod.parent;
    annotateCopy(source, receiver, original ?? schema, schema, into);
    if (name === "extend" || name === "safeExtend") annotateFields(source, first, schema, into);
  } else if (type === "object") {
    annotateFields(source, first, schema, into);
  } else if (type === "record" || type === "map") {
    const [key, value] = placesIn(schema);
    annotateChild(source, first, schema, key, into);
    annotateChild(source, second, schema, value, into);
  } else if (type === "union" || type === "tuple" || type === "intersection") {
    const list = name === "discriminatedUnion" ? second : first;
    const parts =
      type === "intersection" ? [first, second] : list && ts.isArrayLiteralExpression(list) ? list.elements : [];
    const children = placesIn(schema);
    for (const [index, part] of parts.entries()) annotateChild(source, part, schema, children[index], into);
  } else if (type === "pipe") {
    const [from, to] = placesIn(schema);
    annotateChild(source, name === "preprocess" ? second : first, schema, name === "preprocess" ? to : from, into);
    if (name !== "preprocess") annotateChild(source, second, schema, to, into);
  }
}

function placesIn(schema: AnySchema): Place[] {
  const node = nodeOf(schema);
  return node.type === "lazy" && node.kind === "refined"
    ? [{ slot: "lazy", part: node.inner }]
    : placesOf(ownStructure(node));
}

/** Visits the expression of a schema nested in `parent`, and records its brands. */
function annotateChild(
  source: SchemaSource,
  expression: Expression | undefined,
  parent: AnySchema,
  child: Place | undefined,
  into: Annotations,
): void {
  if (child === undefined) return;
  noteBrands(brandsOf(source, expression), parent, child, into);
  annotate(source, expression, child.part.schema, into);
}

function noteBrands(brands: readonly Brand[], parent: AnySchema, child: Place, into: Annotations): void {
  if (brands.length === 0) return;
  const { schema, type } = child.part;
  const [inner] = type === "optional" || type === "nonoptional" ? placesIn(schema) : [];
  // `.partial()` or `.required()` has made this field from the one that the source shows.
  if (inner !== undefined) return noteBrands(brands, schema, inner, into);
  const owner = canonical(parent);
  const slots = into.brands.get(owner) ?? new Map<string, readonly Brand[]>();
  into.brands.set(owner, slots.set(child.at === undefined ? child.slot : `${child.slot}.${child.at}`, brands));
}

export function noteDocs(initializer: Expression, schema: unknown, into: Annotations): void {
  const docs = jsDocOf(ts.findAncestor(initializer.parent, ts.isVariableDeclaration));
  if (docs !== undefined && !into.constantDocs.has(schema)) into.constantDocs.set(schema, docs);
}

function annotateCopy(
  source: SchemaSource,
  receiver: Expression | undefined,
  original: AnySchema,
  copy: AnySchema,
  into: Annotations,
): void {
  if (receiver === undefined) return;
  const { type } = nodeOf(copy);
  if (original === copy) {
    // `.brand()` returns the schema itself; `.extend()` and `.strict()` return a schema without a parent. In both
    // cases, the expression before the dot contains the fields.
    if (ts.isIdentifier(receiver)) {
      const target = source.resolve(receiver);
      if (target !== undefined && type === "object") annotateBase(source, target, copy, into);
    } else if (type === "object") {
      annotateBase(source, receiver, copy, into);
    }
    return;
  }
  annotate(source, receiver, original, into);
}

/**
 * Records the fields of `schema` that are written in `expression`. `schema` was derived from the schema that
 * `expression` has created.
 */
function annotateBase(source: SchemaSource, expression: Expression, schema: AnySchema, into: Annotations): void {
  const written = unwrapExpression(expression);
  if (!ts.isCallExpression(written)) return;
  const [first] = written.arguments;
  annotateFields(source, first, schema, into);
  const callee = written.expression;
  if (!ts.isPropertyAccessExpression(callee)) return;
  const receiver = unwrapExpression(callee.expression);
  if (isNamespace(source, receiver)) return;
  const next = ts.isIdentifier(receiver) ? source.resolve(receiver) : receiver;
  if (next !== undefined) annotateBase(source, next, schema, into);
}

function annotateFields(
  source: SchemaSource,
  literal: Expression | undefined,
  schema: AnySchema,
  into: Annotations,
): void {
  const children = new Map(placesIn(schema).map((child) => [child.slot === "fields" ? child.at : undefined, child]));
  const docs = into.fieldDocs.get(schema) ?? new Map<string, string>();
  into.fieldDocs.set(schema, docs);
  for (const property of literalProperties(source, literal)) {
    const child = children.get(property.name);
    if (child === undefined) continue;
    const text = jsDocOf(property.node);
    if (text !== undefined && !docs.has(property.name)) docs.set(property.name, text);
    annotateChild(source, property.value, schema, child, into);
  }
}

/**
 * Returns true if an identifier is a namespace, such as `z` in `z.object`, and not a schema: no constant of the project
 * has its name.
 */
function isNamespace(source: SchemaSource, receiver: Expression): boolean {
  if (ts.isIdentifier(receiver)) return source.resolve(receiver) === undefined;
  // Such as `z.iso.date()` or `z.coerce.number()`.
  return ts.isPropertyAccessExpression(receiver) && isNamespace(source, unwrapExpression(receiver.expression));
}
