import { isOptional } from "../types/optional.js";
import { isUint8Array } from "../types/support.js";
import {
  type AnySchema,
  canonical,
  defOf,
  type Direction,
  isZodSchema,
  lazyTarget,
  shapeOf as fieldsOf,
} from "../types/zod.js";
import { checksOf, mergeChecks } from "./checks.js";
import type { Checks, LiteralValue, ScalarType, Shape } from "./shape.js";

/** The name under which the shape of a schema is kept apart; undefined to write it where it is used. */
export type ShapeName = (schema: AnySchema, direction: Direction) => string | undefined;

const SCALARS: Readonly<Record<string, ScalarType>> = {
  string: "string",
  number: "number",
  int: "number",
  bigint: "bigint",
  boolean: "boolean",
  date: "date",
  null: "null",
  undefined: "undefined",
  void: "undefined",
  never: "never",
  any: "any",
  unknown: "any",
};

/** Types of zod whose shapes have checks of their own. Those of others are checks of all that their shapes may be. */
const WITH_CHECKS: ReadonlySet<string> = new Set(["object", "array", "set", "record", "map", ...Object.keys(SCALARS)]);

/** Makes shapes, and collects those that have names. */
export class ShapeBuilder {
  readonly types: Record<string, Shape> = {};
  readonly #name: ShapeName;

  constructor(name: ShapeName) {
    this.#name = name;
  }

  /** The shape of `schema`: on the wire for `input`, as the receiver gets it for `output`. */
  shape(schema: unknown, direction: Direction): Shape {
    if (!isZodSchema(schema)) return { type: "any" };
    const target = canonical(schema);
    const name = this.#name(target, direction);
    if (name === undefined) return this.#define(schema, direction);
    if (!Object.hasOwn(this.types, name)) {
      this.types[name] = { type: "any" };
      this.types[name] = this.#define(target, direction);
    }
    const { type, checks: own } = defOf(target);
    if (!WITH_CHECKS.has(type)) {
      const more = schema === target ? undefined : checksOf(schema, own?.length ?? 0);
      return more === undefined ? { type: "ref", name } : { type: "ref", name, more };
    }
    const checks = checksOf(schema);
    const isOwn = checks === undefined || JSON.stringify(checks) === JSON.stringify(checksOf(target));
    return isOwn ? { type: "ref", name } : { type: "ref", name, checks };
  }

  #define(schema: AnySchema, direction: Direction): Shape {
    const shape = this.#structure(schema, direction);
    return WITH_CHECKS.has(defOf(schema).type) ? shape : withChecks(shape, checksOf(schema));
  }

  /** The shape of `schema`, without checks where it has none of its own. */
  #structure(schema: AnySchema, direction: Direction): Shape {
    const def = defOf(schema);
    const of = (child: unknown): Shape => this.shape(child, direction);
    const checks = checksOf(schema);
    const checked = checks === undefined ? {} : { checks };
    if (direction === "input" && "coerce" in def && def.coerce) return { type: "any" };
    switch (def.type) {
      case "object":
        return this.#object(schema, direction, checked);
      case "array":
        return { type: "array", items: of(def.element), ...checked };
      case "set":
        return { type: "set", items: of(def.valueType), ...checked };
      case "tuple": {
        const required = def.items.findLastIndex((item) => !isOptional(item, direction)) + 1;
        const rest = def.rest ? { rest: of(def.rest) } : {};
        return { type: "tuple", items: def.items.map(of), required, ...rest };
      }
      case "record":
      case "map": {
        const partial = def.type === "record" && def.partial === true ? { partial: true as const } : {};
        return { type: def.type, key: of(def.keyType), value: of(def.valueType), ...partial, ...checked };
      }
      case "enum":
        return literals(Object.values(def.entries));
      case "literal":
        return literals(def.values);
      case "union":
        return union(def.options.map(of));
      case "intersection":
        return { type: "intersection", parts: [of(def.left), of(def.right)] };
      case "optional":
        return union([of(def.innerType), { type: "undefined" }]);
      case "nullable":
        return union([of(def.innerType), { type: "null" }]);
      case "default":
      case "prefault":
        return direction === "input" ? union([of(def.innerType), { type: "undefined" }]) : of(def.innerType);
      case "nonoptional":
        return without(of(def.innerType), "undefined");
      case "catch":
        return withChecks(of(def.innerType), { lenient: true });
      case "success":
        return direction === "input" ? of(def.innerType) : { type: "boolean" };
      case "readonly":
        return of(def.innerType);
      case "lazy":
        return of(lazyTarget(schema));
      case "pipe":
        // What z.preprocess takes is its function's business: what the schema after it takes is as near as can be known.
        return of(direction === "input" && defOf(def.in).type !== "transform" ? def.in : def.out);
      case "template_literal":
        return {
          type: "string",
          checks: { patterns: [String((schema._zod as { readonly pattern?: unknown }).pattern)] },
        };
      case "custom":
        return { type: isUint8Array(schema) ? "bytes" : "opaque" };
      case "transform":
        return { type: direction === "input" ? "any" : "opaque" };
      default:
        return { type: SCALARS[def.type] ?? "opaque", ...checked };
    }
  }

  #object(schema: AnySchema, direction: Direction, checked: { readonly checks?: Checks }): Shape {
    const def = defOf(schema);
    const fields: Record<string, Shape> = {};
    const optional: string[] = [];
    for (const [name, child] of fieldsOf(schema)) {
      const shape = this.shape(child, direction);
      // A property that is undefined is left out on the wire: to be undefined is to be absent.
      const absent = isOptional(child, direction) || mayBe(shape, "undefined");
      fields[name] = absent ? without(shape, "undefined") : shape;
      if (absent) optional.push(name);
    }
    const catchall = def.type === "object" ? def.catchall : undefined;
    const rest = catchall === undefined ? undefined : this.shape(catchall, direction);
    return {
      type: "object",
      fields,
      ...(optional.length === 0 ? {} : { optional: optional.sort() }),
      ...(rest === undefined ? {} : { rest: rest.type === "never" ? ("refused" as const) : rest }),
      ...checked,
    };
  }
}

function literals(values: readonly unknown[]): Shape {
  const kept = values.filter((value) => value !== undefined).map(literalValue);
  const literal: Shape = { type: "literal", values: kept };
  return kept.length === values.length ? literal : union([literal, { type: "undefined" }]);
}

function literalValue(value: unknown): LiteralValue {
  return typeof value === "bigint" ? { bigint: String(value) } : (value as LiteralValue);
}

/** The union of `options`, flat and without repeats. */
function union(options: readonly Shape[]): Shape {
  const flat = options.flatMap((option) => (option.type === "union" ? option.options : [option]));
  if (flat.some((each) => each.type === "any")) return { type: "any" };
  const seen = new Set<string>();
  const kept = flat.filter((each) => {
    const text = JSON.stringify(each);
    return each.type !== "never" && !seen.has(text) && seen.add(text);
  });
  const [only = { type: "never" } as const] = kept;
  return kept.length <= 1 ? only : { type: "union", options: kept };
}

/** Whether `type` is one of the options of `shape`. */
function mayBe(shape: Shape, type: "undefined" | "null"): boolean {
  return shape.type === type || (shape.type === "union" && shape.options.some((option) => option.type === type));
}

/** `shape` without the option `type`. */
function without(shape: Shape, type: "undefined" | "null"): Shape {
  return shape.type === "union" ? union(shape.options.filter((option) => option.type !== type)) : shape;
}

/** `shape`, with `checks` beside those that it has. */
function withChecks(shape: Shape, checks: Checks | undefined): Shape {
  if (checks === undefined) return shape;
  if (shape.type === "union") return { ...shape, options: shape.options.map((option) => withChecks(option, checks)) };
  if (shape.type === "ref") return { ...shape, more: mergeChecks(shape.more, checks) };
  return { ...shape, checks: mergeChecks(shape.checks, checks) };
}
