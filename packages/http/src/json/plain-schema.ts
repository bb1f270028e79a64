/** The parts of a zod schema that are read here. */
interface Schema {
  readonly _zod: { readonly def: Def; readonly values?: ReadonlySet<unknown> };
}

interface Def {
  readonly type: string;
  readonly coerce?: boolean;
  readonly [key: string]: unknown;
}

const PLAIN: ReadonlySet<string> = new Set(["string", "number", "boolean", "null", "template_literal"]);
/** Schemas with inner schemas, and the keys of these. */
const INSIDE: Readonly<Record<string, readonly string[]>> = {
  array: ["element"],
  object: ["shape", "catchall"],
  tuple: ["items", "rest"],
  record: ["keyType", "valueType"],
  union: ["options"],
  intersection: ["left", "right"],
  optional: ["innerType"],
  nullable: ["innerType"],
  default: ["innerType"],
  prefault: ["innerType"],
  readonly: ["innerType"],
  nonoptional: ["innerType"],
  pipe: ["in"],
};

/** Returns the type of a zod schema. */
export function typeOf(schema: unknown): string {
  return (schema as Schema)._zod.def.type;
}

/** Returns true if every input of the zod schema `schema` is plain JSON. */
export function takesPlainJson(schema: unknown, seen: Set<unknown> = new Set()): boolean {
  if (seen.has(schema)) return true;
  seen.add(schema);
  const { def, values } = (schema as Schema)._zod;
  if (def.coerce === true) return true;
  if (PLAIN.has(def.type)) return true;
  if (def.type === "literal" || def.type === "enum") return [...(values ?? [])].every(isScalar);
  const inside = INSIDE[def.type];
  return inside?.flatMap((key) => partsAt(def[key])).every((part) => takesPlainJson(part, seen)) ?? false;
}

function partsAt(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value;
  return "_zod" in value ? [value] : Object.values(value);
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}
