import type { JsonNode } from "./json-tree.js";

/** Path from the outermost value of a JSON text to a nested value: the index of a member or item at each level. */
export type Path = readonly number[];

/** A change of one value in a JSON text. */
export type Edit =
  | { readonly kind: "replace"; readonly value: unknown }
  /** Replaces the value with JSON text. Used for numbers that JavaScript would round. */
  | { readonly kind: "source"; readonly text: string }
  | { readonly kind: "remove" }
  | { readonly kind: "rename"; readonly name: string }
  /** Adds a member after the last one, or an item if there is no name. */
  | { readonly kind: "add"; readonly name?: string; readonly value: unknown };

const INDENT = "  ";

/** Returns a JSON text with one value changed. The rest stays as typed. An invalid path changes nothing. */
export function edited(text: string, root: JsonNode, path: Path, edit: Edit): string {
  const node = nodeAt(root, path);
  const parent = path.length === 0 ? undefined : nodeAt(root, path.slice(0, -1));
  const index = path.at(-1) ?? 0;
  if (node === undefined) return text;
  const replaced = (from: number, to: number, inserted: string): string =>
    text.slice(0, from) + inserted + text.slice(to);
  switch (edit.kind) {
    case "replace":
      return replaced(node.from, node.to, printed(edit.value, indentAt(text, node.from)));
    case "source":
      return replaced(node.from, node.to, edit.text);
    case "rename": {
      const property = parent?.properties[index];
      return property === undefined ? text : replaced(property.from, property.to, JSON.stringify(edit.name));
    }
    case "remove": {
      if (parent === undefined) return text;
      const [from, to] = gapOf(parent, index);
      return replaced(from, to, "");
    }
    case "add":
      return added(text, node, edit.name, edit.value);
  }
}

/** Returns the value at the end of a path. Undefined if the path is invalid. */
function nodeAt(root: JsonNode, path: Path): JsonNode | undefined {
  let at: JsonNode | undefined = root;
  for (const index of path) at = at?.kind === "object" ? at.properties[index]?.value : at?.items[index];
  return at;
}

function placesOf({ properties, items }: JsonNode): readonly { readonly from: number; readonly to: number }[] {
  return properties.length > 0 ? properties.map(({ from, to, value }) => ({ from, to: value?.to ?? to })) : items;
}

/** Returns the range of text to remove together with a member or item, including one comma. */
function gapOf(parent: JsonNode, index: number): readonly [from: number, to: number] {
  const ranges = placesOf(parent);
  const [before, current, after] = [ranges[index - 1], ranges[index], ranges[index + 1]];
  if (current === undefined) return [parent.to, parent.to];
  if (before !== undefined) return [before.to, current.to];
  return after === undefined ? [parent.from + 1, parent.to - 1] : [current.from, after.from];
}

function added(text: string, node: JsonNode, name: string | undefined, value: unknown): string {
  const indent = indentAt(text, node.from);
  const within = indent + INDENT;
  const last = placesOf(node).at(-1);
  const member = (name === undefined ? "" : `${JSON.stringify(name)}: `) + printed(value, within);
  if (last === undefined)
    return `${text.slice(0, node.from + 1)}\n${within}${member}\n${indent}${text.slice(node.to - 1)}`;
  const isOneLine = !text.slice(node.from, node.to).includes("\n");
  return `${text.slice(0, last.to)}${isOneLine ? ", " : `,\n${within}`}${member}${text.slice(last.to)}`;
}

function printed(value: unknown, indent: string): string {
  return JSON.stringify(value, undefined, INDENT).replaceAll("\n", `\n${indent}`);
}

/** Returns the white space at the start of the line that contains a position. */
function indentAt(text: string, position: number): string {
  const line = text.slice(text.lastIndexOf("\n", position - 1) + 1, position);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}
