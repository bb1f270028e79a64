import { type Place as PlaceOf, placesOf as placesOfForm, type Structure } from "@quicrpc/core/generated";
import type { SchemaRoot } from "../source/schema-root.js";
import type { AnySchema, SchemaMeta } from "../types/zod.js";
import { isPrintable } from "./constant.js";

/** How to reach a schema at run time: an export of the schema module, and the keys to go through. */
export interface SchemaPath {
  readonly root: SchemaRoot;
  readonly keys: readonly (string | number)[];
}

/** A message that the schema's author gave: a text, or a function, of the schema itself or of its check with that number. */
export type Told = { readonly text: string } | { readonly check: number | undefined };

/** A condition on a value, as zod's own checks have it. */
export type CheckNode = Condition & {
  readonly told?: Told;
  /** Only zod can run it. */
  readonly opaque?: true;
};

type Condition =
  | { readonly kind: "minSize" | "maxSize" | "exactSize"; readonly size: number }
  | {
      readonly kind: "atLeast" | "atMost" | "moreThan" | "lessThan";
      readonly bound: number | bigint | Date;
      /** The name of the range that it is a bound of, such as `int64`. */
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
  /** A format without a regular expression that says all of it. */
  | {
      readonly kind: "format";
      readonly format: string;
      readonly regex?: RegExp;
      readonly options?: Readonly<Record<string, string>>;
    }
  /** Changes the value, as `trim` does. */
  | { readonly kind: "overwrite" }
  /** A function of the user, as by `refine`. */
  | { readonly kind: "custom" };

/**
 * A schema, read from zod: the model that types, codecs, JSON Schemas and snapshots are made of. A zod schema is one node wherever it is
 * used, so that a schema inside itself leads back to its own node.
 */
export type SchemaNode = NodeFacts & NodeBody;

/** Facts about every schema. */
interface NodeFacts {
  /** zod's own schema: a key, into which only the reader looks. */
  readonly schema: AnySchema;
  /** zod's name of its type, which tells `enum` from `literal` and `unknown` from `any`. */
  readonly type: string;
  /** How to reach it at run time, if the reader was told where its root is. */
  readonly at: SchemaPath | undefined;
  /** Message for a value of another type. */
  readonly told?: Told;
  /** Whether it may be absent, and if so whether something takes its place. */
  readonly optin: "optional" | "defaulted" | undefined;
  readonly optout: "optional" | undefined;
  /** The description and metadata of this very copy of the schema. */
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
  /** Checks of which zod has to run some, on what `inner` results in. */
  | { readonly kind: "refined"; readonly inner: SchemaNode; readonly checks: readonly CheckNode[] }
  /** Left to zod whole; `structure` is what is known of it. One that `coerces` takes anything and makes that of it. */
  | { readonly kind: "external"; readonly structure: SchemaNode; readonly coerces: boolean }
  /** Structures of which zod alone knows more: `z.custom`, the function of a transform, and what cannot be sent. */
  | { readonly kind: "custom" | "transform" | "other" }
  /** Whether `inner` takes the value. */
  | { readonly kind: "success"; readonly inner: SchemaNode }
  /** Being read: a schema inside itself. */
  | { readonly kind: "open" };

/** A node of one kind. */
export type NodeOf<Kind> = Extract<SchemaNode, { readonly kind: Kind }>;

/** A node inside another: the property that it is in, with its name or index there. */
export type Place = PlaceOf<SchemaNode>;

/** The places of the nodes directly inside `node`, those of keys with them. */
export function placesOf(node: SchemaNode): Place[] {
  if (node.kind === "external") return [{ slot: "structure", part: node.structure }];
  if (node.kind === "record") {
    const { fit } = node.keys;
    return [...(fit === undefined ? [] : [{ slot: "key", part: fit }]), ...placesOfForm<SchemaNode>(node)];
  }
  if (node.kind !== "template") return placesOfForm(node as Structure<InsideNodes>);
  return (node.parts ?? []).flatMap((part, at) => (typeof part === "string" ? [] : [{ slot: "parts", at, part }]));
}

/** The nodes directly inside `node`, those of keys with them. */
export function partsOf(node: SchemaNode): SchemaNode[] {
  return placesOf(node).map(({ part }) => part);
}

/** Returns a function that says whether a node, or one inside it, passes `test`. */
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
    // All that is inside one of these was met too.
    for (const each of met) known.set(each, false);
    return false;
  };
}

/** The fields of an object, in their order. */
export function fieldsOf({ fields }: NodeOf<"object">): FieldNode[] {
  return Object.entries(fields).map(([name, node]) => ({ name, node }));
}

export interface FieldNode {
  readonly name: string;
  readonly node: SchemaNode;
}

/** How an object treats other keys. */
export function othersOf({ others }: NodeOf<"object">): "strip" | "strict" | "loose" | SchemaNode {
  return typeof others === "object" && others.kind === "any" ? "loose" : others;
}

/** The options of a discriminated union, each with the values that stand for it. */
export function optionsOf({ options }: NodeOf<"discriminated">): { values: unknown[]; node: SchemaNode }[] {
  const grouped = new Map<SchemaNode, unknown[]>();
  for (const [value, node] of options) {
    const values = grouped.get(node);
    if (values === undefined) grouped.set(node, [value]);
    else values.push(value);
  }
  return Array.from(grouped, ([node, values]) => ({ node, values }));
}

/** The schema of a record's keys. */
export function keyOf({ keys }: NodeOf<"record">): SchemaNode {
  if (keys.fit === undefined) throw new Error("A record was read without its keys.");
  return keys.fit;
}

/** Whether a record takes every text as a key. */
export function takesAnyKey({ keys }: NodeOf<"record">): boolean {
  const { exactly, among, fit } = keys;
  return (exactly ?? among) === undefined && (fit === undefined || (fit.kind === "string" && fit.checks.length === 0));
}

/** The default or fallback of `node`, if it is the same each time and can be written down. */
export function constantOf(node: NodeOf<"default" | "prefault" | "caught">): { readonly value: unknown } | undefined {
  if (node.isConstant !== true) return undefined;
  const value = (node.value as () => unknown)();
  return isPrintable(value) ? { value } : undefined;
}

/** The schema that stands for all copies which checks, descriptions and metadata made. */
export function canonicalNode(node: SchemaNode): SchemaNode {
  return node.origin === undefined ? node : canonicalNode(node.origin);
}

/** The structure of a schema without the checks and functions that zod runs around it. */
export function ownStructure(node: SchemaNode): SchemaNode {
  if (node.kind === "external") return ownStructure(node.structure);
  const isSame = node.kind === "refined" && (node.inner.schema === node.schema || node.checks.length === 0);
  return isSame ? ownStructure(node.inner) : node;
}

/** All checks of a schema. */
export function checksOf(node: SchemaNode): readonly CheckNode[] {
  if (node.kind === "external") return checksOf(node.structure);
  if (node.kind === "refined" && node.checks.length === 0) return checksOf(node.inner);
  return "checks" in node ? node.checks : [];
}

/** The nodes of the schemas directly inside that of `node`, however many nodes it is made of itself. */
export function innerNodes(node: SchemaNode): SchemaNode[] {
  const inside = node.kind === "external" ? node.structure : node.kind === "refined" ? node.inner : undefined;
  return inside !== undefined && inside.schema === node.schema ? innerNodes(inside) : partsOf(node);
}

/** Whether a node is the function of a transform, of which only zod knows what it takes and makes. */
export function isFunction(node: SchemaNode): boolean {
  return node.kind === "external" && node.structure.kind === "transform";
}
