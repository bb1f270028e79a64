import type { PlainJson } from "@quicrpc/core/internal";
import type { Described } from "@quicrpc/http/openapi";
import {
  factOf,
  type NodeOf,
  ownStructure,
  partsOf,
  type Place,
  placesOf,
  reaching,
  type SchemaNode,
  takesAnyKey,
} from "../schema/node.js";

/** Returns the positions of the schemas directly inside `node` that its codec needs. */
export function codecPlaces(node: SchemaNode): Place[] {
  if (node.kind === "template") return [];
  if (node.kind !== "external") {
    const places = placesOf(node);
    return node.kind === "record" && takesAnyKey(node) ? places.filter(({ slot }) => slot !== "key") : places;
  }
  const given = givenOf(node);
  return given === undefined ? [] : [{ slot: "given", part: given }];
}

export function codecParts(node: SchemaNode): SchemaNode[] {
  return codecPlaces(node).map(({ part }) => part);
}

/**
 * Returns the schema for the input of an external schema (one that zod runs as a whole). Returns undefined if the wire
 * form of the input is not known to differ.
 */
export const givenOf: (node: NodeOf<"external">) => SchemaNode | undefined = factOf(
  ({ structure }) => findGiven(structure),
  undefined,
);

function findGiven(node: SchemaNode): SchemaNode | undefined {
  if (!saysLess(node) && !dropsKeys(node)) return undefined;
  switch (node.kind) {
    case "bigint":
      return { ...node, checks: [] };
    case "refined":
      return findGiven(node.inner);
    case "pipe":
      return node.from;
    case "success":
      return node.inner;
    case "record":
      return { ...node, keys: {} };
    case "union":
      return node;
    default:
      return undefined;
  }
}

/** Returns true if a value of `node`, or a nested value, may have undeclared keys, which are not sent. */
export const dropsKeys: (node: SchemaNode) => boolean = reaching(
  (node) => node.kind === "object" && node.others === "strip",
);

/** Returns true if the schema contains bigints, maps or sets, whose wire form loses information. */
export const saysLess: (node: SchemaNode) => boolean = reaching((node) =>
  node.kind === "literal"
    ? node.values.some((value) => typeof value === "bigint")
    : ["bigint", "map", "set"].includes(node.kind),
);

/**
 * Returns how an external schema (one that zod runs as a whole) treats plain JSON; undefined if plain JSON cannot
 * represent its values.
 */
export function takenOf({ structure, coerces }: NodeOf<"external">): PlainJson | undefined {
  const { kind } = ownStructure(structure);
  if (coerces) return kind === "date" || kind === "bigint" ? kind : "json";
  return isForeign(structure) ? undefined : "json";
}

/** Describes a schema node in the same form as a shape at run time, so that the same analysis works for both. */
export function describeNode(node: SchemaNode): Described<SchemaNode> {
  const isWhole = node.kind === "external";
  const form = isWhole ? { kind: node.kind, schema: node.schema, takes: takenOf(node) } : node;
  // Structures that only zod runs are always inside an external node.
  return { form: form as Described<SchemaNode>["form"], optin: node.optin };
}

/**
 * Describes a schema node by its structure, even if zod runs it. Exception: a node that coerces values of other types.
 */
export function describeStructure(node: SchemaNode): Described<SchemaNode> {
  const form = node.kind === "external" && !node.coerces ? node.structure : node;
  return { form: form as Described<SchemaNode>["form"] };
}

const PLAIN: ReadonlySet<string> = new Set(
  (
    "string number boolean null template literal array object tuple record union discriminated intersection " +
    "optional exactOptional nullable default prefault frozen nonOptional pipe refined external"
  ).split(" "),
);

/** Returns true if a schema accepts values that plain JSON cannot represent. */
const isForeign = reaching(
  (node) => !PLAIN.has(node.kind) || (node.kind === "literal" && !node.values.every(isScalar)),
  (node) => {
    if (node.kind === "template" || (node.kind === "external" && node.coerces)) return [];
    return node.kind === "pipe" ? [node.from] : partsOf(node);
  },
);

function isScalar(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}
