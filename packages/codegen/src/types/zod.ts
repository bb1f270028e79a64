import type * as zod from "zod/v4/core";
import { isIdentifier, pascalCase } from "../names.js";

/** A schema of zod 4 or zod/mini. */
export type AnySchema = zod.$ZodType;

/** Definition of a schema in zod's internals. Its `type` is the discriminator. */
export type SchemaDef = zod.$ZodTypes["_zod"]["def"];

/**
 * Selects one of a schema's types: the accepted one ("input") or that of the result ("output"). Also the direction of a
 * message: a server accepts its input and sends its output.
 */
export type Direction = "input" | "output";

/** Returns true if `value` is a zod 4 schema, from any copy of zod. */
export function isZodSchema(value: unknown): value is AnySchema {
  return typeof value === "object" && value !== null && "_zod" in value;
}

/** Returns true if `value` is a schema of zod 3, whose internals differ. */
export function isZod3Schema(value: unknown): boolean {
  return typeof value === "object" && value !== null && !("_zod" in value) && "_def" in value && "safeParse" in value;
}

export function defOf(schema: AnySchema): SchemaDef {
  return (schema as zod.$ZodTypes)._zod.def;
}

export function hasTrait(schema: AnySchema, trait: string): boolean {
  return schema._zod.traits.has(trait);
}

/** Description and metadata from `.describe()` and `.meta()`. */
export interface SchemaMeta {
  readonly id?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly deprecated?: unknown;
  /** How protobuf encodes the schema. */
  readonly proto?: unknown;
  /** Field numbers that protobuf must not assign to new fields of an object. */
  readonly protoReserved?: unknown;
}

/** Returns the description and metadata that `.describe()` and `.meta()` have added to `schema` itself. */
export function metaOf(schema: AnySchema): SchemaMeta {
  // zod keeps one registry per process, for all copies of zod.
  const { __zod_globalRegistry: registry } = globalThis as { __zod_globalRegistry?: typeof zod.globalRegistry };
  return registry?.get(schema) ?? {};
}

/**
 * Converts the name that an author has given to a schema to a type name; returns undefined if it contains no valid one.
 */
export function typeNameOf(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const type = pascalCase(name.replace(/[_-]?schema$/i, ""));
  return isIdentifier(type) && type !== "_" ? type : undefined;
}

/**
 * Returns the schema that represents all schemas of the same type: the one inside `lazy`, and the original of copies
 * made by `.describe()`, `.meta()` and checks.
 */
export function canonical(schema: AnySchema): AnySchema {
  let current = schema;
  for (let hops = 0; hops < 100; hops++) {
    const def = defOf(current);
    const next = def.type === "lazy" ? lazyTarget(current) : current._zod.parent;
    if (!isZodSchema(next)) return current;
    current = next;
  }
  return current;
}

const shapes = new WeakMap<SchemaDef, ReadonlyMap<string, unknown>>();

/** Returns the fields of an object schema. Calls each getter only once, so that a field is always the same schema. */
export function objectFields(schema: AnySchema): ReadonlyMap<string, unknown> {
  const def = defOf(schema);
  if (def.type !== "object") return new Map();
  let shape = shapes.get(def);
  if (shape === undefined) {
    shape = new Map(Object.keys(def.shape).map((key) => [key, def.shape[key] as unknown]));
    shapes.set(def, shape);
  }
  return shape;
}

export function lazyTarget(schema: AnySchema): unknown {
  return (schema as zod.$ZodLazy)._zod.innerType;
}
