import { keyOf, type NodeOf, partsOf, type SchemaNode, takesAnyKey } from "../schema/node.js";

/** The nodes directly inside `node` that its codec needs. */
export function codecParts(node: SchemaNode): SchemaNode[] {
  switch (node.kind) {
    case "record":
      return takesAnyKey(node) ? [node.element] : [keyOf(node), node.element];
    case "external": {
      const given = givenOf(node);
      return given === undefined ? [] : [given];
    }
    case "template":
      return [];
    default:
      return partsOf(node);
  }
}

const found = new WeakMap<SchemaNode, { readonly given: SchemaNode | undefined }>();

/** The node of what a schema takes that zod runs whole; undefined if that is what is on the wire, as far as one can know. */
export function givenOf(node: NodeOf<"external">): SchemaNode | undefined {
  let known = found.get(node);
  if (known === undefined) found.set(node, (known = { given: findGiven(node.structure) }));
  return known.given;
}

function findGiven(node: SchemaNode): SchemaNode | undefined {
  if (!saysLess(node)) return undefined;
  switch (node.kind) {
    case "bigint":
      return { ...node, checks: [] };
    case "refined":
      return findGiven(node.inner);
    case "pipe":
      return node.from;
    case "record":
      return { ...node, keys: {} };
    case "union":
      return node;
    default:
      return undefined;
  }
}

/** Whether the wire says less than a value of `node`: it has bigints, maps or sets somewhere. */
export function saysLess(node: SchemaNode, seen: Set<SchemaNode> = new Set()): boolean {
  if (seen.has(node)) return false;
  seen.add(node);
  const isLess =
    node.kind === "literal"
      ? node.values.some((value) => typeof value === "bigint")
      : ["bigint", "map", "set"].includes(node.kind);
  return isLess || partsOf(node).some((part) => saysLess(part, seen));
}
