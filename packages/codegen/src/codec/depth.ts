import { hasOwnCode } from "./compiled.js";
import { factOf, othersOf, type SchemaNode } from "../schema/node.js";
import { codecParts } from "./parts.js";

/** Name of the parameter for the number of nesting levels that are left. */
export const DEPTH = "depth";

/**
 * Returns true if values of `node` may be nested to any depth, because it is recursive or contains `any`. Only
 * functions of such nodes count levels; other values are only as deep as the schema.
 */
export const isDeep: (node: SchemaNode) => boolean = factOf(
  (node) =>
    node.kind === "any" ||
    node.kind === "external" ||
    (node.kind === "object" && othersOf(node) === "loose") ||
    codecParts(node).some(isDeep),
  true,
);

/** Returns the expression for the levels left inside `node`. Each container is one level. */
export function depthInside(node: SchemaNode): string {
  return hasOwnCode(node) && node.kind !== "discriminated" && node.kind !== "union" ? `${DEPTH} - 1` : DEPTH;
}

/** Returns the first statement of a container's functions. */
export function refuseDepth(node: SchemaNode): string[] {
  return isDeep(node) && depthInside(node) !== DEPTH ? [`if (${DEPTH} === 0) return wire.misfit();`] : [];
}

/** Returns the parameter of functions that count levels. */
export function depthParameter(node: SchemaNode): string[] {
  return isDeep(node) ? [`${DEPTH} = wire.MAX_DEPTH`] : [];
}
