import { hasOwnCode, present, presenceOf, scalarName } from "./compiled.js";
import { partsOf, type SchemaNode } from "../schema/node.js";

/**
 * Whether compiled code takes every value that fits `node`: one that it does not take is a misfit, and its shape would only say why.
 * Where in doubt it is not.
 */
export function isWhole(node: SchemaNode, open: Set<SchemaNode> = new Set()): boolean {
  if (open.has(node)) return true;
  open.add(node);
  const whole = (part: SchemaNode): boolean => isWhole(part, open);
  if (node.kind === "nullable" || node.kind === "frozen")
    return present(node.inner) === node.inner && whole(node.inner);
  if (scalarName(node) !== undefined) return node.kind !== "any";
  if (node.kind === "record" || !hasOwnCode(node)) return false;
  if (node.kind === "union") return false;
  if (node.kind !== "object") return partsOf(node).every(whole);
  if (typeof node.others !== "string") return false;
  return Object.values(node.fields).every((field) => isWholeField(field, node.others === "strict", whole));
}

/** @param strict what is there but undefined counts as a key that is too many */
function isWholeField(node: SchemaNode, strict: boolean, whole: (part: SchemaNode) => boolean): boolean {
  if (presenceOf(node) === "required") return whole(node);
  if (strict || node.kind === "nullable" || !("inner" in node)) return false;
  return present(node.inner) === node.inner && whole(node.inner);
}
