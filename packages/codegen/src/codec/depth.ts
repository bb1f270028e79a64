import { hasOwnCode } from "./compiled.js";
import { othersOf, type SchemaNode } from "../schema/node.js";
import { codecParts } from "./parts.js";

/** The argument of functions that count levels: how many more there may be. */
export const DEPTH = "depth";

/**
 * Whether what fits `node` may be nested however deep: it is recursive, or takes anything somewhere inside. Functions of such nodes count
 * levels; what others read and write is as deep as the schema.
 */
export function isDeep(node: SchemaNode): boolean {
  return findDeep(node, new Set());
}

const answers = new WeakMap<SchemaNode, boolean>();

function findDeep(node: SchemaNode, open: Set<SchemaNode>): boolean {
  if (open.has(node)) return true;
  const known = answers.get(node);
  if (known !== undefined) return known;
  open.add(node);
  const isOpenEnded =
    node.kind === "any" || node.kind === "external" || (node.kind === "object" && othersOf(node) === "loose");
  const answer = isOpenEnded || codecParts(node).some((part) => findDeep(part, open));
  open.delete(node);
  answers.set(node, answer);
  return answer;
}

/** The levels that are left inside `node`, in its functions: those of containers are a level themselves. */
export function depthInside(node: SchemaNode): string {
  return hasOwnCode(node) && node.kind !== "discriminated" && node.kind !== "union" ? `${DEPTH} - 1` : DEPTH;
}

/** The statement with which functions of a container begin. */
export function refuseDepth(node: SchemaNode): string[] {
  return isDeep(node) && depthInside(node) !== DEPTH ? [`if (${DEPTH} === 0) return wire.misfit();`] : [];
}

/** The parameter of a function that counts levels. */
export function depthParameter(node: SchemaNode): string[] {
  return isDeep(node) ? [`${DEPTH} = wire.MAX_DEPTH`] : [];
}
