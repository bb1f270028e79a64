import { canonical, defOf, type Direction, hasTrait, isZodSchema } from "./zod.js";

/**
 * Whether a field of this schema may be left out, as zod's types have it. `_zod.optin` and `_zod.optout` are not asked,
 * since they differ from the types (for `catch`, say).
 */
export function isOptional(schema: unknown, direction: Direction, depth = 0): boolean {
  if (!isZodSchema(schema) || depth > 50) return false;
  const def = defOf(schema);
  const inner = (child: unknown): boolean => isOptional(child, direction, depth + 1);
  switch (def.type) {
    case "optional":
      return true;
    case "default":
    case "prefault":
      return direction === "input";
    case "nullable":
    case "readonly":
    case "catch":
      return inner(def.innerType);
    case "success":
      return direction === "input" && inner(def.innerType);
    case "lazy":
      return inner(canonical(schema));
    case "pipe":
      return inner(direction === "output" || hasTrait(schema, "$ZodPreprocess") ? def.out : def.in);
    case "union":
      return def.options.some(inner);
    case "intersection":
      return inner(def.left) && inner(def.right);
    default:
      return false;
  }
}

/** Whether the type of this schema may have `undefined` in it, so that taking it out is not idle. */
export function mayBeUndefined(schema: unknown, depth = 0): boolean {
  if (!isZodSchema(schema) || depth > 50) return false;
  const def = defOf(schema);
  const inner = (child: unknown): boolean => mayBeUndefined(child, depth + 1);
  switch (def.type) {
    case "optional":
    case "undefined":
    case "void":
    case "default":
    case "prefault":
      return true;
    case "literal":
      return def.values.includes(undefined);
    case "nullable":
    case "readonly":
    case "catch":
      return inner(def.innerType);
    case "lazy":
      return inner(canonical(schema));
    case "union":
      return def.options.some(inner);
    case "pipe":
      return inner(def.in) || inner(def.out);
    default:
      return false;
  }
}
