import type * as zod from "zod/v4/core";
import { isIdentifier, pascalCase } from "../names.js";

/** Any zod 4 schema, from zod or zod/mini, as its internals describe it. */
export type AnySchema = zod.$ZodType;

/** The definition of a schema, told apart by `type`. */
export type SchemaDef = zod.$ZodTypes["_zod"]["def"];

/** Which side of a schema a type is for: what it accepts or what it results in. */
export type Direction = "input" | "output";

/** Whether `value` is a zod 4 schema, of this copy of zod or another. */
export function isZodSchema(value: unknown): value is AnySchema {
  return typeof value === "object" && value !== null && "_zod" in value;
}

/** Whether `value` is a schema of zod 3, which has other internals. */
export function isZod3Schema(value: unknown): boolean {
  return typeof value === "object" && value !== null && !("_zod" in value) && "_def" in value && "safeParse" in value;
}

export function defOf(schema: AnySchema): SchemaDef {
  return (schema as zod.$ZodTypes)._zod.def;
}

export function hasTrait(schema: AnySchema, trait: string): boolean {
  return schema._zod.traits.has(trait);
}

/** The description and metadata that `.describe()` and `.meta()` gave a schema. */
export interface SchemaMeta {
  readonly id?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly deprecated?: unknown;
}

/** Returns the description and metadata that `.describe()` and `.meta()` gave `schema` itself. */
export function metaOf(schema: AnySchema): SchemaMeta {
  // zod keeps one registry per process, whichever copy of zod made the schema.
  const { __zod_globalRegistry: registry } = globalThis as { __zod_globalRegistry?: typeof zod.globalRegistry };
  return registry?.get(schema) ?? {};
}

/** The name of a type for what a person called a schema; undefined where that is no name. */
export function typeNameOf(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const type = pascalCase(name.replace(/[_-]?schema$/i, ""));
  return isIdentifier(type) && type !== "_" ? type : undefined;
}

/**
 * The schema that stands for all of the same types: without `lazy`, and without the copies that `.describe()`, `.meta()`
 * and checks make.
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

/** The fields of an object schema. Getters run once, so that a field is the same schema each time. */
export function shapeOf(schema: AnySchema): ReadonlyMap<string, unknown> {
  const def = defOf(schema);
  if (def.type !== "object") return new Map();
  let shape = shapes.get(def);
  if (shape === undefined) {
    shape = new Map(Object.keys(def.shape).map((key) => [key, def.shape[key] as unknown]));
    shapes.set(def, shape);
  }
  return shape;
}

/** Returns the schema that a `lazy` schema stands for. */
export function lazyTarget(schema: AnySchema): unknown {
  return (schema as zod.$ZodLazy)._zod.innerType;
}
