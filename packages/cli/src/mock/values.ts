import * as fc from "fast-check";
import { containerOf } from "./containers.js";
import { boundsOf } from "./bounds.js";
import { bigintOf, dateOf, numberOf } from "./numbers.js";
import { MockError, type ValueSource, type ZodLike } from "./schema.js";
import { stringOf } from "./strings.js";

/** Levels below which what may be left out is left out, and the shortest of choices is taken: schemas may hold themselves. */
const SHALLOW = 4;
const DEEPEST = 24;
/** Values that are tried until one passes all of a schema's own checks. */
const ATTEMPTS = 200;

/** Returns a source of values of a schema, such as a client would send them: defaults and transforms are the receiver's. */
export function valuesOf(schema: ZodLike, depth = 0): ValueSource {
  if (depth > DEEPEST) throw new MockError("a schema holds itself without an end");
  const bounds = boundsOf(schema);
  const def = schema._zod.def as Readonly<Record<string, unknown>> & { readonly type: string };
  // Made when a value is, since a schema may hold itself, and once.
  const inner = (each: unknown): ValueSource => {
    let made: ValueSource | undefined;
    return fc.constant(undefined).chain(() => (made ??= valuesOf(each as ZodLike, depth + 1)));
  };
  const isDeep = depth >= SHALLOW;
  switch (def.type) {
    case "string":
      return stringOf(bounds);
    case "number":
      return numberOf(bounds);
    case "bigint":
      return bigintOf(bounds);
    case "date":
      return dateOf(bounds);
    case "boolean":
      return fc.boolean();
    case "literal":
      return fc.constantFrom(...(def.values as readonly unknown[]));
    case "enum":
      return fc.constantFrom(...enumValues(def.entries as Readonly<Record<string, unknown>>));
    case "null":
      return fc.constant(null);
    case "undefined":
    case "void":
      return fc.constant(undefined);
    case "nan":
      return fc.constant(Number.NaN);
    case "any":
    case "unknown":
      return fc.constantFrom("anything", 1, true, null);
    case "optional":
    case "exact_optional":
      return isDeep ? fc.constant(undefined) : fc.option(inner(def.innerType), { nil: undefined, freq: 4 });
    case "nullable":
      return isDeep ? fc.constant(null) : fc.option(inner(def.innerType), { nil: null, freq: 4 });
    case "default":
    case "prefault":
    case "catch":
    case "readonly":
    case "nonoptional":
    case "success":
      return inner(def.innerType);
    case "lazy":
      return inner((def.getter as () => unknown)());
    case "pipe":
      return inner(def.in);
    case "union":
      return unionOf(def.options as readonly ZodLike[], isDeep, inner);
    case "custom":
      return fc.uint8Array({ minLength: 1, maxLength: 32 });
    case "template_literal":
      return templateOf(def.parts as readonly unknown[], inner);
    default:
      return containerOf(def, bounds, isDeep, inner);
  }
}

/** Returns a value that passes all checks of a schema, the same for the same seed. Throws `MockError` where none is found. */
export function valueOf(schema: ZodLike, source: ValueSource, seed: number): unknown {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [value] = fc.sample(source, { seed: (seed + attempt * 0x9e3779b1) | 0, numRuns: 1 });
    if (schema.safeParse(value).success) return value;
  }
  throw new MockError(`of ${ATTEMPTS} values none passes the schema's own checks`);
}

/** Numeric enums of TypeScript have their names as values too. */
function enumValues(entries: Readonly<Record<string, unknown>>): unknown[] {
  const numbers = new Set(Object.values(entries).filter((value) => typeof value === "number"));
  return Object.entries(entries).flatMap(([name, value]) => (numbers.has(Number(name)) ? [] : [value]));
}

function unionOf(options: readonly ZodLike[], isDeep: boolean, inner: (each: unknown) => ValueSource): ValueSource {
  const flat = options.filter(
    ({ _zod }) => !["object", "array", "tuple", "record", "map", "set", "lazy"].includes(_zod.def.type),
  );
  return fc.oneof(...(isDeep && flat.length > 0 ? flat : options).map(inner));
}

function templateOf(parts: readonly unknown[], inner: (each: unknown) => ValueSource): ValueSource {
  const sources = parts.map((part) =>
    typeof part === "object" && part !== null && "_zod" in part ? inner(part) : fc.constant(part),
  );
  return fc.tuple(...sources).map((texts) => texts.map(String).join(""));
}
