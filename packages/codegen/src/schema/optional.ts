import type { Direction } from "../types/zod.js";
import { partsInside, partsOf, reaching, type SchemaNode } from "./node.js";

/** Kinds of schemas that accept undefined only if a nested schema does. */
const TRANSPARENT: ReadonlySet<string> = new Set(
  "nullable frozen caught refined external union discriminated".split(" "),
);

/**
 * Returns true if a field with this schema may be omitted according to zod's types. Does not use `optin` and `optout`,
 * which differ from the types in some cases, such as `catch`.
 */
export function isOptional(node: SchemaNode, direction: Direction, depth = 0): boolean {
  if (depth > 50) return false;
  const inner = (part: SchemaNode): boolean => isOptional(part, direction, depth + 1);
  const { kind } = node;
  if (kind === "optional" || kind === "exactOptional") return true;
  if (kind === "default" || kind === "prefault") return direction === "input";
  if (kind === "success") return direction === "input" && inner(node.inner);
  if (kind === "pipe") return inner(direction === "output" || node.preprocesses === true ? node.to : node.from);
  if (kind === "intersection") return inner(node.left) && inner(node.right);
  return TRANSPARENT.has(kind) && partsOf(node).some(inner);
}

const ABSENT: ReadonlySet<string> = new Set("optional exactOptional undefined default prefault".split(" "));

/** Returns true if the type of a schema may include `undefined`, so that removing `undefined` changes the type. */
export const mayBeUndefined: (node: SchemaNode) => boolean = reaching(
  (node) => ABSENT.has(node.kind) || (node.kind === "literal" && node.values.includes(undefined)),
  partsInside(new Set([...TRANSPARENT, "pipe"])),
);
