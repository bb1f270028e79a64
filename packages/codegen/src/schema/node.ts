import { type Place as PlaceOf, placesOf as placesOfForm, type Structure } from "@quicrpc/core/internal";
import type { SchemaRoot } from "../source/schema-root.js";
import type { AnySchema, SchemaMeta } from "../types/zod.js";
import { isPrintable } from "./constant.js";

/** Path to a schema at run time: an export of a schema module, and the keys that lead from it to the schema. */
export interface SchemaPath {
  readonly root: SchemaRoot;
  readonly keys: readonly (string | number)[];
}

/** A custom error message: a text, or the message function of a schema (or of its check with the index `check`). */
export type Told = { readonly text: string } | { readonly check: number | undefined };

/** A condition that a value must meet, which corresponds to a check in zod. */
export type CheckNode = Condition & {
  readonly told?: Told;
  /** True if only zod can run the check. */
  readonly opaque?: true;
};

type Condition =
  | { readonly kind: "minSize" | "maxSize" | "exactSize"; readonly size: number }
  | {
      readonly kind: "atLeast" | "atMost" | "moreThan" | "lessThan";
      readonly bound: number | bigint | Date;
      /** Name of the number format that the bound belongs to, such as `int64`. */
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
  /** A string format that a regular expression cannot describe completely. */
  | {
      readonly kind: "format";
      readonly format: string;
      readonly regex?: RegExp;
      readonly options?: Readonly<Record<string, string>>;
    }
  /**
   * A function that changes the value. `by` is the name of the zod function, such as `trim`; undefined for a user's
   * function.
   */
  | { readonly kind: "overwrite"; readonly by?: string | undefined }
  /** A schema that one property of the value must match. */
  | { readonly kind: "property"; readonly name: string; readonly schema: AnySchema }
  /** A user's function, such as in `refine`. */
  | { readonly kind: "custom" };

/**
 * The generator's model of a zod schema. Types, codecs, JSON Schemas and snapshots are made from it. All uses of a zod
 * schema share one node, so a recursive schema leads back to its own node.
 */
export type SchemaNode = NodeFacts & NodeBody;

interface NodeFacts {
  /** The zod schema. Used as a key; only the schema reader accesses its content. */
  readonly schema: AnySchema;
  /** zod's name of the schema's type. It distinguishes `enum` from `literal`, and `unknown` from `any`. */
  readonly type: string;
  /** Path to the schema at run time; undefined if it is not known. */
  readonly at: SchemaPath | undefined;
  /** Custom error message for a value of the wrong type. */
  readonly told?: Told;
  /**
   * "optional" if the input may be absent, "defaulted" if an absent input is replaced; undefined if the input is
   * required.
   */
  readonly optin: "optional" | "defaulted" | undefined;
  readonly optout: "optional" | undefined;
  /** Description and metadata of the schema itself, not of the schema that it is a copy of. */
  readonly meta: SchemaMeta;
  /** The schema of which a check, `.describe()` or `.meta()` has made this copy; undefined for an original. */
  readonly origin: SchemaNode | undefined;
}

interface InsideNodes {
  readonly part: SchemaNode;
  readonly check: CheckNode;
}

export type NodeBody =
  | Structure<InsideNodes>
  /** A schema with checks of which zod must run at least one. `inner` may already contain the first of these checks. */
  | { readonly kind: "refined"; readonly inner: SchemaNode; readonly checks: readonly CheckNode[] }
  /**
   * A schema that zod runs as a whole; `structure` is what the generator knows about it. If `coerces` is true, it
   * accepts any value and converts it to `structure`.
   */
  | { readonly kind: "external"; readonly structure: SchemaNode; readonly coerces: boolean }
  /** A schema whose details only zod knows: `z.custom`, the function of a transform, or a type that cannot be sent. */
  | { readonly kind: "custom" | "transform" | "other" }
  /** A schema whose result is a boolean: whether the value matches `inner`. */
  | { readonly kind: "success"; readonly inner: SchemaNode }
  /** A node that is still being created. Recursive schemas refer to it meanwhile. */
  | { readonly kind: "open" };

export type NodeOf<Kind> = Extract<SchemaNode, { readonly kind: Kind }>;

/** Position of a node inside another: the property that contains it, and its name or index there. */
export type Place = PlaceOf<SchemaNode>;

/** Returns the positions of the nodes directly inside `node`, including nodes of keys. */
export function placesOf(node: SchemaNode): Place[] {
  if (node.kind === "external") return [{ slot: "structure", part: node.structure }];
  if (node.kind === "record") {
    const { fit } = node.keys;
    return [...(fit === undefined ? [] : [{ slot: "key", part: fit }]), ...placesOfForm<SchemaNode>(node)];
  }
  if (node.kind !== "template") return placesOfForm(node as Structure<InsideNodes>);
  return (node.parts ?? []).flatMap((part, at) => (typeof part === "string" ? [] : [{ slot: "parts", at, part }]));
}

export function partsOf(node: SchemaNode): SchemaNode[] {
  return placesOf(node).map(({ part }) => part);
}

/**
 * Returns a function that returns `find(node)` and caches the result. While `find` is running for a node, the result
 * for the same node is `open`, because schemas may be recursive.
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
 * Returns a function that returns true if a node, or one nested in it, passes `test`.
 *
 * @param parts returns the nested nodes to test. Default: all
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
    // The search has visited all nodes nested in these, too.
    for (const each of met) known.set(each, false);
    return false;
  };
}

export function partsInside(kinds: ReadonlySet<string>): (node: SchemaNode) => readonly SchemaNode[] {
  return (node) => (kinds.has(node.kind) ? partsOf(node) : []);
}

/** Returns the value of `key`, which may be a name that every object inherits, such as `constructor`. */
export function ownValue<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

export function fieldsOf({ fields }: NodeOf<"object">): FieldNode[] {
  return Object.entries(fields).map(([name, node]) => ({ name, node }));
}

export interface FieldNode {
  readonly name: string;
  readonly node: SchemaNode;
}

/** Returns how an object treats undeclared keys. "loose" means that it keeps them unchanged. */
export function othersOf({ others }: NodeOf<"object">): "strip" | "strict" | "loose" | SchemaNode {
  return typeof others === "object" && others.kind === "any" ? "loose" : others;
}

export function optionsOf({ options }: NodeOf<"discriminated">): { values: unknown[]; node: SchemaNode }[] {
  const grouped = new Map<SchemaNode, unknown[]>();
  for (const [value, node] of options) {
    const values = grouped.get(node);
    if (values === undefined) grouped.set(node, [value]);
    else values.push(value);
  }
  return Array.from(grouped, ([node, values]) => ({ node, values }));
}

export function keyOf({ keys }: NodeOf<"record">): SchemaNode {
  if (keys.fit === undefined) throw new Error("A record was read without its keys.");
  return keys.fit;
}

export function takesAnyKey({ keys }: NodeOf<"record">): boolean {
  const { exactly, among, fit } = keys;
  return (exactly ?? among) === undefined && (fit === undefined || (fit.kind === "string" && fit.checks.length === 0));
}

/**
 * Returns the default or fallback of a schema, if it is constant and can be written as an expression; undefined
 * otherwise.
 */
export function constantOf(node: NodeOf<"default" | "prefault" | "caught">): { readonly value: unknown } | undefined {
  if (node.isConstant !== true) return undefined;
  const value = (node.value as () => unknown)();
  return isPrintable(value) ? { value } : undefined;
}

export function canonicalNode(node: SchemaNode): SchemaNode {
  return node.origin === undefined ? node : canonicalNode(node.origin);
}

/** Returns the schema without the checks and functions that zod runs around it. */
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

/** Returns the nodes of the schemas directly inside a zod schema, even if several nodes represent that schema. */
export function innerNodes(node: SchemaNode): SchemaNode[] {
  const inside = node.kind === "external" ? node.structure : node.kind === "refined" ? node.inner : undefined;
  return inside !== undefined && inside.schema === node.schema ? innerNodes(inside) : partsOf(node);
}

/** Returns the node inside all wrappers whose kind is in `kinds`. */
export function withoutWrappers(node: SchemaNode, kinds: ReadonlySet<string>): SchemaNode {
  return kinds.has(node.kind) && "inner" in node ? withoutWrappers(node.inner, kinds) : node;
}

/** Returns true if a node is the function of a transform. Only zod knows its input and output. */
export function isFunction(node: SchemaNode): boolean {
  return node.kind === "external" && node.structure.kind === "transform";
}
