import type * as zod from "zod/v4/core";
import { isIdentifier, pascalCase } from "../names.js";
import { quoted } from "../print/text.js";

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

/** One schema inside another, with how to get there in a field path and in a type expression. */
export interface ChildSchema {
  /** The part of the parent's definition that it is. */
  readonly slot: string;
  /** A field's name, `[]` for elements, `{}` for values; undefined for what adds nothing to the path. */
  readonly segment: string | undefined;
  /** The steps that a type expression for the parent needs to reach this one, as in `["shape"]["user"]`. */
  readonly accessor: string;
  /** The part of a name that stands for this step of the path. */
  readonly label: { readonly add: string } | { readonly one: true } | undefined;
  readonly schema: unknown;
  /** The directions in which the child's type is part of the parent's. */
  readonly directions: readonly Direction[];
}

/** The slot of a field of an object. */
export function fieldSlot(name: string): string {
  return `.${name}`;
}

const BOTH: readonly Direction[] = ["input", "output"];

/** The schemas directly inside `schema`, whether or not they are zod schemas. */
export function childrenOf(schema: AnySchema): ChildSchema[] {
  const def = defOf(schema);
  const inner = (key: string, child: unknown, directions = BOTH): ChildSchema => ({
    slot: key,
    segment: undefined,
    accessor: `["_zod"]["def"]["${key}"]`,
    label: undefined,
    schema: child,
    directions,
  });
  const at = (accessor: string, segment: string | undefined, add: string, child: unknown): ChildSchema => ({
    slot: accessor,
    segment,
    accessor: `["_zod"]["def"]${accessor}`,
    label: { add },
    schema: child,
    directions: BOTH,
  });
  switch (def.type) {
    case "object": {
      const fields = [...shapeOf(schema)].map(([key, child]) => ({
        ...at("", key, key, child),
        slot: fieldSlot(key),
        accessor: `["shape"][${quoted(key)}]`,
      }));
      return def.catchall === undefined || isPlainCatchall(def.catchall)
        ? fields
        : [...fields, at(`["catchall"]`, "{}", "Value", def.catchall)];
    }
    case "array":
      return [{ ...inner("element", def.element), segment: "[]", label: { one: true } }];
    case "set":
      return [{ ...inner("valueType", def.valueType), segment: "[]", label: { one: true } }];
    case "tuple":
      return [
        ...def.items.map((item, index) => at(`["items"][${index}]`, `[${index}]`, String(index + 1), item)),
        ...(def.rest ? [at(`["rest"]`, "[]", "Rest", def.rest)] : []),
      ];
    case "record":
    case "map":
      return [at(`["keyType"]`, "{key}", "Key", def.keyType), at(`["valueType"]`, "{}", "Value", def.valueType)];
    case "union":
      return def.options.map((option, index) =>
        at(`["options"][${index}]`, undefined, optionLabel(def, option, index), option),
      );
    case "intersection":
      return [at(`["left"]`, undefined, "Left", def.left), at(`["right"]`, undefined, "Right", def.right)];
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "catch":
    case "nonoptional":
    case "readonly":
      return [inner("innerType", def.innerType)];
    case "success":
      return [inner("innerType", def.innerType, ["input"])];
    case "lazy":
      return [{ ...inner("lazy", lazyTarget(schema)), accessor: `["_zod"]["innerType"]` }];
    case "template_literal":
      return def.parts.flatMap((part, index) =>
        isZodSchema(part) ? [at(`["parts"][${index}]`, undefined, `Part${index + 1}`, part)] : [],
      );
    case "pipe":
      return [inner("in", def.in, ["input"]), inner("out", def.out, ["output"])];
    default:
      return [];
  }
}

/** Whether a catchall is what `z.strictObject` and `z.looseObject` set. */
function isPlainCatchall(catchall: AnySchema): boolean {
  const { type } = defOf(catchall);
  return type === "never" || type === "unknown" || type === "any";
}

function optionLabel(def: SchemaDef, option: unknown, index: number): string {
  const discriminator = "discriminator" in def ? def.discriminator : undefined;
  if (typeof discriminator === "string" && isZodSchema(option)) {
    const field = shapeOf(canonical(option)).get(discriminator);
    if (isZodSchema(field)) {
      const value = defOf(field);
      if (value.type === "literal" && typeof value.values[0] === "string") return value.values[0];
    }
  }
  return `Option${index + 1}`;
}
