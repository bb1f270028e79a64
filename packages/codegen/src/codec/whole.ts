import { hasOwnCode, isCompiled, present, presenceOf } from "./compiled.js";
import type { SchemaNode } from "../schema/node.js";

/**
 * Whether compiled code takes every value that fits `node`: one that it does not take is a misfit, and its shape would only say why.
 * Where in doubt it is not.
 */
export function isWhole(node: SchemaNode, open: Set<SchemaNode> = new Set()): boolean {
  if (open.has(node)) return true;
  open.add(node);
  const whole = (part: SchemaNode): boolean => isWhole(part, open);
  switch (node.kind) {
    case "string":
    case "number":
    case "bigint":
    case "date":
    case "boolean":
    case "bytes":
    case "null":
    case "template":
      return true;
    case "literal":
      return isCompiled(node);
    case "object":
      return (
        hasOwnCode(node) &&
        Object.values(node.fields).every((field) => isWholeField(field, node.others === "strict", whole))
      );
    case "array":
    case "set":
      return whole(node.element);
    case "map":
      return whole(node.key) && whole(node.element);
    case "tuple":
      return hasOwnCode(node) && node.items.every(whole);
    case "discriminated":
      return hasOwnCode(node) && node.options.every(([, option]) => whole(option));
    case "nullable":
    case "frozen":
      return present(node.inner) === node.inner && whole(node.inner);
    default:
      return false;
  }
}

/** @param strict what is there but undefined counts as a key that is too many */
function isWholeField(node: SchemaNode, strict: boolean, whole: (part: SchemaNode) => boolean): boolean {
  if (presenceOf(node) === "required") return whole(node);
  if (strict || node.kind === "nullable" || !("inner" in node)) return false;
  return present(node.inner) === node.inner && whole(node.inner);
}
