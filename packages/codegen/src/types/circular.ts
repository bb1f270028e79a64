import { type AnySchema, canonical, childrenOf, defOf, isZodSchema } from "./zod.js";

/** Whether `schema`, a canonical one, is inside itself, without an object between whose type is an interface. */
export function isCircular(schema: AnySchema): boolean {
  let answer = answers.get(schema);
  if (answer === undefined) {
    answer = reaches(schema, schema, new Set());
    answers.set(schema, answer);
  }
  return answer;
}

const answers = new WeakMap<AnySchema, boolean>();

function reaches(from: AnySchema, target: AnySchema, seen: Set<AnySchema>): boolean {
  return childrenOf(from).some((child) => {
    if (!isZodSchema(child.schema)) return false;
    const part = canonical(child.schema);
    if (part === target) return true;
    if (seen.has(part) || defOf(part).type === "object") return false;
    seen.add(part);
    return reaches(part, target, seen);
  });
}
