import { exampleOf } from "./example.js";
import type { JsonNode } from "./json-tree.js";
import { branchesOf, choicesOf, itemOf, memberOf, membersOf, type JsonSchema } from "@quicrpc/services/json-schema";

interface Proposal {
  readonly label: string;
  /** Text to insert if the user selects the completion. */
  readonly apply: string;
  readonly detail?: string;
}

/** Completions for a position, and the start of the text that they replace. */
export interface Proposals {
  readonly from: number;
  readonly proposals: readonly Proposal[];
}

/** Returns completions of members and values at `position`. Undefined if the schema has none. */
export function proposalsAt(
  node: JsonNode,
  position: number,
  schema: unknown,
  root: JsonSchema,
): Proposals | undefined {
  const branches = branchesOf(schema, root);
  if (node.kind === "array") {
    const index = node.items.findIndex(({ to }) => to >= position);
    const item = node.items[index];
    if (item !== undefined && item.from <= position)
      return first(branches, (branch) => proposalsAt(item, position, itemOf(branch, index), root));
    return valuesAt(
      position,
      branches.map((branch) => itemOf(branch, Math.max(index, 0))),
      root,
    );
  }
  if (node.kind === "scalar") return valuesAt(node.from, branches, root);
  const property = node.properties.find(
    ({ from, to, value }) => from <= position && position <= Math.max(to, value?.to ?? to),
  );
  if (property === undefined) {
    const before = node.properties.findLast(({ to }) => to < position);
    const isPending = before !== undefined && before.value === undefined;
    if (isPending)
      return valuesAt(
        position,
        branches.map((branch) => memberOf(branch, before.name)),
        root,
      );
    return namesAt(position, branches, root, node);
  }
  if (position <= property.to) return namesAt(property.from, branches, root, node, property.name);
  const { name, value } = property;
  const inner = branches.map((branch) => memberOf(branch, name));
  if (value === undefined || position < value.from) return valuesAt(position, inner, root);
  return first(inner, (branch) => proposalsAt(value, position, branch, root));
}

function first<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const result = find(item);
    if (result !== undefined) return result;
  }
  return undefined;
}

function namesAt(
  from: number,
  schemas: readonly JsonSchema[],
  root: JsonSchema,
  { properties }: JsonNode,
  ownName?: string,
): Proposals | undefined {
  const present = new Set(properties.map(({ name }) => name).filter((name) => name !== ownName));
  const seen = new Map<string, Proposal>();
  for (const schema of schemas) {
    const { names, required } = membersOf(schema);
    for (const name of names) {
      if (present.has(name) || seen.has(name)) continue;
      const value = ownName === undefined ? `: ${JSON.stringify(exampleOf(memberOf(schema, name), root))}` : "";
      seen.set(name, {
        label: name,
        apply: `${JSON.stringify(name)}${value}`,
        detail: required.includes(name) ? "required" : "optional",
      });
    }
  }
  return seen.size === 0 ? undefined : { from, proposals: [...seen.values()] };
}

function valuesAt(from: number, schemas: readonly unknown[], root: JsonSchema): Proposals | undefined {
  const texts = new Set<string>();
  for (const schema of schemas.flatMap((branch) => branchesOf(branch, root))) {
    const { enum: values, type } = schema;
    if (Array.isArray(values)) for (const value of values) texts.add(JSON.stringify(value));
    else if ("const" in schema) texts.add(JSON.stringify(schema["const"]));
    else if (type === "boolean") texts.add("false").add("true");
    else if (type === "null") texts.add("null");
    else if (choicesOf(schema) === undefined) texts.add(JSON.stringify(exampleOf(schema, root)));
  }
  return texts.size === 0 ? undefined : { from, proposals: [...texts].map((text) => ({ label: text, apply: text })) };
}
