import { canonicalNode, innerNodes, ownStructure, type SchemaNode } from "../schema/node.js";

/** Returns true if `node`, a canonical one, contains itself without an object type in between that could be an interface. */
export function isCircular(node: SchemaNode): boolean {
  let answer = answers.get(node);
  if (answer === undefined) {
    answer = reaches(node, node, new Set());
    answers.set(node, answer);
  }
  return answer;
}

const answers = new WeakMap<SchemaNode, boolean>();

function reaches(from: SchemaNode, target: SchemaNode, seen: Set<SchemaNode>): boolean {
  return innerNodes(from).some((each) => {
    const part = canonicalNode(each);
    if (part === target) return true;
    if (seen.has(part) || ownStructure(part).kind === "object") return false;
    seen.add(part);
    return reaches(part, target, seen);
  });
}
