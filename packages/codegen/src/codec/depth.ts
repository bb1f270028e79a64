import { hasOwnCode } from "./compiled.js";
import { factOf, othersOf, type SchemaNode } from "../schema/node.js";
import { codecParts } from "./parts.js";

/** Name of the function parameter with the number of remaining nesting levels. */
export const DEPTH = "depth";

/**
 * Returns true if values of `node` may be nested to any depth, because the schema is recursive or contains `any`. Only
 * functions for such schemas count levels; other values are at most as deep as their schema.
 */
export const isDeep: (node: SchemaNode) => boolean = factOf(
  (node) =>
    node.kind === "any" ||
    node.kind === "external" ||
    (node.kind === "object" && othersOf(node) === "loose") ||
    codecParts(node).some(isDeep),
  true,
);

/** Returns the expression for the remaining nesting levels inside `node`. Each container is one level. */
export function depthInside(node: SchemaNode): string {
  return hasOwnCode(node) && node.kind !== "discriminated" && node.kind !== "union" ? `${DEPTH} - 1` : DEPTH;
}

/**
 * Returns the first statement of a container's functions, which throws the mismatch error if no nesting levels remain.
 */
export function refuseDepth(node: SchemaNode): string[] {
  return isDeep(node) && depthInside(node) !== DEPTH ? [`if (${DEPTH} === 0) return wire.misfit();`] : [];
}

export function depthParameter(node: SchemaNode): string[] {
  return isDeep(node) ? [`${DEPTH} = wire.MAX_DEPTH`] : [];
}
