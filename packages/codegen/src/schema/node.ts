import { type Place as PlaceOf, placesOf as placesOfForm, type Structure } from "@quicrpc/core/generated";
import type { SchemaRoot } from "../source/schema-root.js";
import type { AnySchema, SchemaMeta } from "../types/zod.js";
import { isPrintable } from "./constant.js";

/** The path to a schema at run time: an export of the schema module, and keys that lead from it. */
export interface SchemaPath {
  readonly root: SchemaRoot;
  readonly keys: readonly (string | number)[];
}

/** A custom message: a text, or a function of the schema or of its check with that index. */
export type Told = { readonly text: string } | { readonly check: number | undefined };

/** A condition on a value, corresponding to one of zod's checks. */
export type CheckNode = Condition & {
  readonly told?: Told;
  /** True if only zod can run it. */
  readonly opaque?: true;
};

type Condition =
  | { readonly kind: "minSize" | "maxSize" | "exactSize"; readonly size: number }
  | {
      readonly kind: "atLeast" | "atMost" | "moreThan" | "lessThan";
      readonly bound: number | bigint | Date;
      /** Name of the range that it bounds, such as `int64`. */
      readonly format?: string;
    }
  | { readonly kind: "integer"; readonly format: string; readonly least?: number; readonly most?: number }
  | { readonly kind: "multipleOf"; readonly step: number | bigint }
  | { readonly kind: "includes"; readonly part: string; readonly position: number | undefined; readonly regex: RegExp }
  | { readonly kind: "startsWith" | "endsWith"; readonly part: string; readonly regex: RegExp }
  | {
      readonly kind: "pattern";
      readonly regex: RegExp;
      readonly format: string;
      readonly options?: Readonly<Record<string, string>>;
    }
  /** A format that no regular expression describes completely. */
  | {
      readonly kind: "format";
      readonly format: string;
      readonly regex?: RegExp;
      readonly options?: Readonly<Record<string, string>>;
    }
  /** Changes the value. `by` is the name of zod's function, such as `trim`; undefined for a function of the user. */
  | { readonly kind: "overwrite"; readonly by?: string | undefined }
  /** A schema that a property of the value must match. */
  | { readonly kind: "property"; readonly name: string; readonly schema: AnySchema }
  /** A function of the user, such as in `refine`. */
  | { readonly kind: "custom" };

/**
 * A schema, read from zod: the model from which types, codecs, JSON Schemas and snapshots are made. A zod schema is one
 * node for all its uses, so that a recursive schema leads back to its own node.
 */
export type SchemaNode = NodeFacts & NodeBody;

/** Properties of every node. */
interface NodeFacts {
  /** The zod schema itself. It is used as a key; only the reader accesses its content. */
  readonly schema: AnySchema;
  /** zod's name of the type, which distinguishes `enum` from `literal` and `unknown` from `any`. */
  readonly type: string;
  /** Its path at run time, if the reader knows the path of its root. */
  readonly at: SchemaPath | undefined;
  /** Custom message for a value of the wrong type. */
  readonly told?: Told;
  /** Whether the input may be absent ("optional"), or is then replaced ("defaulted"). */
  readonly optin: "optional" | "defaulted" | undefined;
  readonly optout: "optional" | undefined;
  /** Description and metadata of this copy of the schema. */
  readonly meta: SchemaMeta;
  /** The schema that a check, `.describe()` or `.meta()` copied. */
  readonly origin: SchemaNode | undefined;
}

interface InsideNodes {
  readonly part: SchemaNode;
  readonly check: CheckNode;
}

export type NodeBody =
  | Structure<InsideNodes>
  /** Checks on the result of `inner`, at least one of which zod has to run. `inner` may have the first of them, too. */
  | { readonly kind: "refined"; readonly inner: SchemaNode; readonly checks: readonly CheckNode[] }
  /**
   * A schema that zod runs as a whole; `structure` is what is known of it. If it `coerces`, it accepts anything and
   * converts it to `structure`.
   */
  | { readonly kind: "external"; readonly structure: SchemaNode; readonly coerces: boolean }
  /** Schemas whose details only zod knows: `z.custom`, the function of a transform, and types that cannot be sent. */
  | { readonly kind: "custom" | "transform" | "other" }
  /** A boolean: whether the value matches `inner`. */
  | { readonly kind: "success"; readonly inner: SchemaNode }
  /** A node that is still being read, for recursive schemas. */
  | { readonly kind: "open" };

/** A node of one kind. */
export type NodeOf<Kind> = Extract<SchemaNode, { readonly kind: Kind }>;

/** The place of a node inside another: the property, with its name or index. */
export type Place = PlaceOf<SchemaNode>;

/** Returns the places directly inside `node`, including those of keys. */
export function placesOf(node: SchemaNode): Place[] {
  if (node.kind === "external") return [{ slot: "structure", part: node.structure }];
  if (node.kind === "record") {
    const { fit } = node.keys;
    return [...(fit === undefined ? [] : [{ slot: "key", part: fit }]), ...placesOfForm<SchemaNode>(node)];
  }
  if (node.kind !== "template") return placesOfForm(node as Structure<InsideNodes>);
  return (node.parts ?? []).flatMap((part, at) => (typeof part === "string" ? [] : [{ slot: "parts", at, part }]));
}

/** Returns the nodes directly inside `node`, including keys. */
export function partsOf(node: SchemaNode): SchemaNode[] {
  return placesOf(node).map(({ part }) => part);
}

/**
 * Returns a function that finds a fact about a node, once for each node. A node has the fact `open` while its own is
 * being found, because schemas may be recursive.
 */
export function factOf<Fact, Node extends SchemaNode = SchemaNode>(
  find: (node: Node) => Fact,
  open: Fact,
): (node: Node) => Fact {
  const known = new WeakMap<Node, { fact: Fact }>();
  return (node) => {
    const found = known.get(node);
    if (found !== undefined) return found.fact;
    const entry = { fact: open };
    known.set(node, entry);
    return (entry.fact = find(node));
  };
}

/**
 * Returns a function that returns true if a node, or one inside it, passes `test`.
 *
 * @param parts returns the nodes inside a node that are tested as well: all of them by default
 */
export function reaching(
  test: (node: SchemaNode) => boolean,
  parts: (node: SchemaNode) => readonly SchemaNode[] = partsOf,
): (node: SchemaNode) => boolean {
  const known = new WeakMap<SchemaNode, boolean>();
  return (node) => {
    const met = new Set([node]);
    for (const each of met) {
      const answer = known.get(each) ?? (test(each) || undefined);
      if (answer === undefined) for (const part of parts(each)) met.add(part);
      else if (answer) {
        known.set(node, true);
        return true;
      }
    }
    // All nodes inside these were visited too.
    for (const each of met) known.set(each, false);
    return false;
  };
}

/** Returns a function that returns the parts of nodes of these kinds, and none for others. */
export function partsInside(kinds: ReadonlySet<string>): (node: SchemaNode) => readonly SchemaNode[] {
  return (node) => (kinds.has(node.kind) ? partsOf(node) : []);
}

/** Returns the value of `key`, which may be a name that every object inherits, such as `constructor`. */
export function ownValue<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Returns the fields of an object, in order. */
export function fieldsOf({ fields }: NodeOf<"object">): FieldNode[] {
  return Object.entries(fields).map(([name, node]) => ({ name, node }));
}

export interface FieldNode {
  readonly name: string;
  readonly node: SchemaNode;
}

/** Returns how an object treats undeclared keys. */
export function othersOf({ others }: NodeOf<"object">): "strip" | "strict" | "loose" | SchemaNode {
  return typeof others === "object" && others.kind === "any" ? "loose" : others;
}

/** Returns the options of a discriminated union, each with its discriminator values. */
export function optionsOf({ options }: NodeOf<"discriminated">): { values: unknown[]; node: SchemaNode }[] {
  const grouped = new Map<SchemaNode, unknown[]>();
  for (const [value, node] of options) {
    const values = grouped.get(node);
    if (values === undefined) grouped.set(node, [value]);
    else values.push(value);
  }
  return Array.from(grouped, ([node, values]) => ({ node, values }));
}

/** Returns the schema of a record's keys. */
export function keyOf({ keys }: NodeOf<"record">): SchemaNode {
  if (keys.fit === undefined) throw new Error("A record was read without its keys.");
  return keys.fit;
}

/** Returns true if a record accepts every string as a key. */
export function takesAnyKey({ keys }: NodeOf<"record">): boolean {
  const { exactly, among, fit } = keys;
  return (exactly ?? among) === undefined && (fit === undefined || (fit.kind === "string" && fit.checks.length === 0));
}

/** Returns the default or fallback of `node`, if it is constant and can be printed. */
export function constantOf(node: NodeOf<"default" | "prefault" | "caught">): { readonly value: unknown } | undefined {
  if (node.isConstant !== true) return undefined;
  const value = (node.value as () => unknown)();
  return isPrintable(value) ? { value } : undefined;
}

/** Returns the schema from which checks, descriptions and metadata made copies. */
export function canonicalNode(node: SchemaNode): SchemaNode {
  return node.origin === undefined ? node : canonicalNode(node.origin);
}

/** Returns the structure of a schema without the checks and functions that zod runs around it. */
export function ownStructure(node: SchemaNode): SchemaNode {
  if (node.kind === "external") return ownStructure(node.structure);
  const isSame = node.kind === "refined" && (node.inner.schema === node.schema || node.checks.length === 0);
  return isSame ? ownStructure(node.inner) : node;
}

/** Returns all checks of a schema. */
export function checksOf(node: SchemaNode): readonly CheckNode[] {
  if (node.kind === "external") return checksOf(node.structure);
  if (node.kind === "refined" && node.checks.length === 0) return checksOf(node.inner);
  return "checks" in node ? node.checks : [];
}

/** Returns the nodes of the schemas directly inside that of `node`, even if `node` consists of several nodes. */
export function innerNodes(node: SchemaNode): SchemaNode[] {
  const inside = node.kind === "external" ? node.structure : node.kind === "refined" ? node.inner : undefined;
  return inside !== undefined && inside.schema === node.schema ? innerNodes(inside) : partsOf(node);
}

/** Returns the node inside wrappers of these kinds. */
export function unwrapped(node: SchemaNode, kinds: ReadonlySet<string>): SchemaNode {
  return kinds.has(node.kind) && "inner" in node ? unwrapped(node.inner, kinds) : node;
}

/** Returns true if a node is the function of a transform, whose input and output only zod knows. */
export function isFunction(node: SchemaNode): boolean {
  return node.kind === "external" && node.structure.kind === "transform";
}
