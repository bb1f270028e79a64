import { hasOwnCode, present, presenceOf, scalarName } from "./compiled.js";
import { partsOf, type SchemaNode } from "../schema/node.js";

/**
 * Returns true if compiled code accepts every valid value of `node`, so that its shape would only explain mismatches.
 * Returns false if that cannot be determined.
 *
 * @param withUndefined true if a valid value may have optional properties that are present but undefined
 */
export function isWhole(node: SchemaNode, withUndefined = false, open: Set<SchemaNode> = new Set()): boolean {
  if (open.has(node)) return true;
  open.add(node);
  const whole = (part: SchemaNode): boolean => isWhole(part, withUndefined, open);
  if (node.kind === "nullable" || node.kind === "frozen")
    return present(node.inner) === node.inner && whole(node.inner);
  if (scalarName(node) !== undefined) return node.kind !== "any";
  if (node.kind === "record" || !hasOwnCode(node)) return false;
  if (node.kind === "union") return false;
  if (node.kind !== "object") return partsOf(node).every(whole);
  if (typeof node.others !== "string") return false;
  return Object.values(node.fields).every((field) =>
    isWholeField(field, withUndefined || node.others === "strict", whole),
  );
}

/**
 * Returns true if the compiled code of an object accepts every valid value of a field.
 * @param strict true if the code refuses a property that is present but undefined
 */
function isWholeField(node: SchemaNode, strict: boolean, whole: (part: SchemaNode) => boolean): boolean {
  if (presenceOf(node) === "required") return whole(node);
  if (strict || node.kind === "nullable" || !("inner" in node)) return false;
  return present(node.inner) === node.inner && whole(node.inner);
}
