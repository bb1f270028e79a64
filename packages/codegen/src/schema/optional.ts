import type { Direction } from "../types/zod.js";
import type { SchemaNode } from "./node.js";

/**
 * Whether a field of this schema may be left out, as zod's types have it. Its `optin` and `optout` are not asked, since they differ from the
 * types (for `catch`, say).
 */
export function isOptional(node: SchemaNode, direction: Direction, depth = 0): boolean {
  if (depth > 50) return false;
  const inner = (part: SchemaNode): boolean => isOptional(part, direction, depth + 1);
  switch (node.kind) {
    case "optional":
    case "exactOptional":
      return true;
    case "default":
    case "prefault":
      return direction === "input";
    case "success":
      return direction === "input" && inner(node.inner);
    case "nullable":
    case "frozen":
    case "caught":
    case "refined":
      return inner(node.inner);
    case "external":
      return inner(node.structure);
    case "pipe":
      return inner(direction === "output" || node.preprocesses === true ? node.to : node.from);
    case "union":
      return node.options.some(inner);
    case "discriminated":
      return node.options.some(([, option]) => inner(option));
    case "intersection":
      return inner(node.left) && inner(node.right);
    default:
      return false;
  }
}

/** Whether the type of this schema may have `undefined` in it, so that taking it out changes it. */
export function mayBeUndefined(node: SchemaNode, depth = 0): boolean {
  if (depth > 50) return false;
  const inner = (part: SchemaNode): boolean => mayBeUndefined(part, depth + 1);
  switch (node.kind) {
    case "optional":
    case "exactOptional":
    case "undefined":
    case "default":
    case "prefault":
      return true;
    case "literal":
      return node.values.includes(undefined);
    case "nullable":
    case "frozen":
    case "caught":
    case "refined":
      return inner(node.inner);
    case "external":
      return inner(node.structure);
    case "union":
      return node.options.some(inner);
    case "pipe":
      return inner(node.from) || inner(node.to);
    default:
      return false;
  }
}
