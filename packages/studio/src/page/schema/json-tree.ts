import type { SyntaxNode, Tree } from "@lezer/common";

/** A value in a JSON text, with its position. */
export interface JsonNode {
  readonly from: number;
  readonly to: number;
  readonly kind: "object" | "array" | "scalar";
  /** The JavaScript value. Undefined for objects and arrays. */
  readonly value?: unknown;
  readonly properties: readonly JsonProperty[];
  readonly items: readonly JsonNode[];
}

/** A member of an object in a JSON text. Its value is undefined if the user has not typed one yet. */
interface JsonProperty {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly value: JsonNode | undefined;
}

const MAX_DEPTH = 200;

/** Converts the syntax tree of the editor's parser. Returns undefined if the text contains no value. */
export function jsonTree(tree: Tree, text: string): JsonNode | undefined {
  const first = tree.topNode.firstChild;
  return first === null ? undefined : nodeOf(first, text, 0);
}

function nodeOf(node: SyntaxNode, text: string, depth: number): JsonNode | undefined {
  const { from, to } = node;
  const none = { properties: [], items: [] } as const;
  if (depth > MAX_DEPTH) return undefined;
  switch (node.name) {
    case "Object":
      return {
        ...none,
        from,
        to,
        kind: "object",
        properties: children(node, "Property").map((child) => propertyOf(child, text, depth)),
      };
    case "Array": {
      const items = children(node)
        .map((child) => nodeOf(child, text, depth + 1))
        .filter((part) => part !== undefined);
      return { ...none, from, to, kind: "array", items };
    }
    case "String":
    case "Number":
    case "True":
    case "False":
    case "Null":
      return { ...none, from, to, kind: "scalar", value: parsed(text.slice(from, to)) };
    default:
      return undefined;
  }
}

function propertyOf(node: SyntaxNode, text: string, depth: number): JsonProperty {
  const name = node.getChild("PropertyName");
  const value = children(node)
    .map((child) => nodeOf(child, text, depth + 1))
    .find((part) => part !== undefined);
  const { from, to } = name ?? node;
  const key = parsed(text.slice(from, to));
  return { name: typeof key === "string" ? key : "", from, to, value };
}

function children(node: SyntaxNode, name?: string): SyntaxNode[] {
  const childNodes: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (name === undefined || child.name === name) childNodes.push(child);
  }
  return childNodes;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
