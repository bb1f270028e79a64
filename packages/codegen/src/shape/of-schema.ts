import {
  canonicalNode,
  type CheckNode,
  checksOf,
  fieldsOf,
  keyOf,
  type NodeOf,
  optionsOf,
  ownStructure,
  isFunction,
  type SchemaNode,
  takesAnyKey,
} from "../schema/node.js";
import { isOptional } from "../schema/optional.js";
import { nodeOf } from "../schema/read.js";
import type { AnySchema, Direction } from "../types/zod.js";
import { mergeChecks, summaryOf } from "./checks.js";
import type { Checks, LiteralValue, Shape } from "./shape.js";

/** Returns the name under which a schema's shape is stored; undefined if the shape is inlined at each use. */
export type ShapeName = (schema: AnySchema, direction: Direction) => string | undefined;

/** Kinds of shapes that can have checks. For other kinds, the checks are stored with each alternative. */
const WITH_CHECKS: ReadonlySet<string> = new Set(
  "object array set record map string number bigint boolean date null undefined never any".split(" "),
);

const SCALARS: ReadonlySet<string> = new Set(["string", "number", "bigint", "date"]);

/** Creates shapes from schemas, and collects the ones with names. */
export class ShapeBuilder {
  readonly types: Record<string, Shape> = {};
  readonly #name: ShapeName;
  /** Nodes whose text is being created; a recursive schema leads to one of them. */
  readonly #open: Set<SchemaNode>;

  constructor(name: ShapeName, open: Set<SchemaNode> = new Set()) {
    this.#name = name;
    this.#open = open;
  }

  /**
   * Returns the shape of `node`: of the value on the wire for "input", of the value that the receiver gets for
   * "output".
   */
  shape(node: SchemaNode, direction: Direction): Shape {
    const target = canonicalNode(node);
    const name = this.#name(target.schema, direction);
    if (name === undefined) return this.#define(node, direction);
    if (!Object.hasOwn(this.types, name)) {
      this.types[name] = { kind: "any" };
      this.types[name] = this.#define(target, direction);
    }
    const own = checksOf(target);
    if (!WITH_CHECKS.has(ownStructure(target).kind)) {
      const more = node === target ? undefined : this.#summary(checksOf(node).slice(own.length));
      return more === undefined ? { kind: "ref", name } : { kind: "ref", name, more };
    }
    const checks = this.#summary(checksOf(node));
    const isOwn = checks === undefined || JSON.stringify(checks) === JSON.stringify(this.#summary(own));
    return isOwn ? { kind: "ref", name } : { kind: "ref", name, checks };
  }

  #define(node: SchemaNode, direction: Direction): Shape {
    const structure = ownStructure(node);
    if (direction === "input") {
      if (node.kind === "external" && node.coerces) return coerced(structure.kind, this.#summary(checksOf(node)));
      if (structure.kind === "pipe" && !isFunction(structure.from))
        return withChecks(this.#pipe(structure, isExternal(node)), this.#summary(checksOf(node)));
    }
    const shape = this.#structure(structure, direction);
    const checks = this.#summary(checksOf(node));
    if (checks === undefined) return shape;
    return WITH_CHECKS.has(structure.kind) ? { ...shape, checks } : withChecks(shape, checks);
  }

  #summary(checks: readonly CheckNode[]): Checks | undefined {
    const others = checks.flatMap((check) =>
      check.kind === "property" ? [`${check.name}: ${this.#textOf([nodeOf(check.schema)], "input")}`] : [],
    );
    const summary = summaryOf(checks);
    return others.length === 0 ? summary : mergeChecks(summary, { others });
  }

  #structure(node: SchemaNode, direction: Direction): Shape {
    const of = (child: SchemaNode): Shape => this.shape(child, direction);
    switch (node.kind) {
      case "object":
        return this.#object(node, direction);
      case "array":
      case "set":
        return { kind: node.kind, element: of(node.element) };
      case "tuple": {
        const required = node.items.findLastIndex((item) => !isOptional(item, direction)) + 1;
        // `rest` is omitted if there is none, because shapes are stored as JSON, which lacks undefined.
        return { kind: "tuple", items: node.items.map(of), required, ...(node.rest && { rest: of(node.rest) }) };
      }
      case "record": {
        if (node.loose === true) {
          // The record keeps entries whose keys do not match, with any value.
          const others = [this.#textOf([keyOf(node), node.element], direction)];
          return { kind: "record", keys: {}, element: { kind: "any" }, checks: { others } };
        }
        const partial = node.partial === true ? { partial: true as const } : {};
        const keys = takesAnyKey(node) ? {} : { fit: of(keyOf(node)) };
        return { kind: "record", keys, element: of(node.element), ...partial };
      }
      case "map":
        return { kind: "map", key: of(node.key), element: of(node.element) };
      case "literal":
        return literals(node.values);
      case "union": {
        const options = union(node.options.map(of));
        if (node.exclusive !== true) return options;
        return withChecks(options, { others: [`one of ${this.#textOf(node.options, direction)}`] });
      }
      case "discriminated":
        return union(optionsOf(node).map((option) => of(option.node)));
      case "intersection":
        return { kind: "intersection", left: of(node.left), right: of(node.right) };
      case "optional":
        return union([of(node.inner), { kind: "undefined" }]);
      case "nullable":
        return union([of(node.inner), { kind: "null" }]);
      case "default":
      case "prefault":
        return direction === "input" ? union([of(node.inner), { kind: "undefined" }]) : of(node.inner);
      case "nonOptional":
        return without(of(node.inner), "undefined");
      case "caught":
        return withChecks(of(node.inner), { lenient: true });
      case "success":
        return direction === "input" ? of(node.inner) : { kind: "boolean" };
      // The property may be absent, but not undefined.
      case "exactOptional":
      case "frozen":
      // The inner schema has checks of its own, so its shape is determined at this use.
      case "refined":
        return of(node.inner);
      case "pipe":
        // Only the function of `z.preprocess` knows what it accepts; the schema after it is the best approximation.
        return of(node.to);
      case "template":
        return { kind: "string", checks: { patterns: [String(node.regex)] } };
      case "transform":
        return { kind: direction === "input" ? "any" : "opaque" };
      case "custom":
      case "other":
      case "open":
      case "external":
        return { kind: "opaque" };
      case "bytes":
        return node.view === undefined ? { kind: "bytes" } : { kind: "bytes", view: node.view };
      default:
        return { kind: node.kind };
    }
  }

  /** Returns the shape of a value that must match `from` and, after functions in between, `to`. */
  #pipe({ from, to }: NodeOf<"pipe">, isCodec: boolean): Shape {
    const shape = this.shape(from, "input");
    if (isFunction(to)) return shape;
    const isChanged = checksOf(from).some((check) => check.kind === "overwrite");
    const isConverted = isCodec || isChanged || ownStructure(from).kind === "pipe";
    const { kind } = ownStructure(to);
    if (!isConverted && SCALARS.has(kind) && shape.kind === kind) return withChecks(shape, summaryOf(checksOf(to)));
    return withChecks(shape, { others: [`then ${this.#textOf([to], "input")}`] });
  }

  /** Returns a text that is equal only if the shapes of `nodes`, including nested ones, are equal. */
  #textOf(nodes: readonly SchemaNode[], direction: Direction): string {
    const [first] = nodes;
    if (first === undefined || this.#open.has(first)) return "itself";
    this.#open.add(first);
    const names = new Map<AnySchema, string>();
    const nameOf: ShapeName = (schema) => {
      if (!names.has(schema)) names.set(schema, `${names.size}`);
      return names.get(schema);
    };
    const builder = new ShapeBuilder(nameOf, this.#open);
    const shapes = nodes.map((each) => builder.shape(each, direction));
    this.#open.delete(first);
    return JSON.stringify([shapes, builder.types]);
  }

  #object(node: NodeOf<"object">, direction: Direction): Shape {
    const fields: Record<string, Shape> = {};
    for (const { name, node: child } of fieldsOf(node)) {
      const shape = this.shape(child, direction);
      const absent = direction === "input" ? child.optin !== undefined : isOptional(child, direction);
      fields[name] = absent ? { ...without(shape, "undefined"), optional: true } : shape;
    }
    const { others } = node;
    if (others === "strip") return { kind: "object", fields };
    return { kind: "object", fields, others: others === "strict" ? others : this.shape(others, direction) };
  }
}

function literals(values: readonly unknown[]): Shape {
  const kept = values.filter((value) => value !== undefined).map(literalValue);
  const literal: Shape = { kind: "literal", values: kept };
  return kept.length === values.length ? literal : union([literal, { kind: "undefined" }]);
}

function literalValue(value: unknown): LiteralValue {
  if (typeof value === "bigint") return { bigint: String(value) };
  if (Object.is(value, -0)) return { number: "-0" };
  return typeof value === "number" && !Number.isFinite(value)
    ? ({ number: String(value) } as LiteralValue)
    : (value as LiteralValue);
}

function isExternal(node: SchemaNode): boolean {
  return node.kind === "external" || (node.kind === "refined" && isExternal(node.inner));
}

/**
 * Returns the shape of a value that a schema coerces to `kind`. Every value can be coerced to a string or boolean, but
 * not to a number.
 */
function coerced(kind: string, checks: Checks | undefined): Shape {
  const isSure = kind === "string" || kind === "boolean";
  const demands = {
    ...(isSure ? {} : { others: [`to ${kind}`] }),
    ...(checks === undefined ? {} : { changed: checks }),
  };
  return Object.keys(demands).length === 0 ? { kind: "any" } : { kind: "any", checks: demands };
}

/** Returns the union of `options`, with nested unions flattened and duplicates removed. */
function union(options: readonly Shape[]): Shape {
  const flat = options.flatMap((option) => (option.kind === "union" ? option.options : [option]));
  if (flat.some((each) => each.kind === "any" && each.checks === undefined)) return { kind: "any" };
  const seen = new Set<string>();
  const kept = flat.filter((each) => {
    const text = JSON.stringify(each);
    return each.kind !== "never" && !seen.has(text) && seen.add(text);
  });
  const [only = { kind: "never" } as const] = kept;
  return kept.length <= 1 ? only : { kind: "union", options: kept };
}

function without(shape: Shape, kind: "undefined" | "null"): Shape {
  return shape.kind === "union" ? union(shape.options.filter((option) => option.kind !== kind)) : shape;
}

function withChecks(shape: Shape, checks: Checks | undefined): Shape {
  if (checks === undefined) return shape;
  if (shape.kind === "union") return { ...shape, options: shape.options.map((option) => withChecks(option, checks)) };
  if (shape.kind === "ref") return { ...shape, more: mergeChecks(shape.more, checks) };
  return { ...shape, checks: mergeChecks(shape.checks, checks) };
}
