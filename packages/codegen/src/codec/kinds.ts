import { dropsKeys } from "./parts.js";
import { mayBeUndefined } from "../schema/optional.js";
import {
  factOf,
  type NodeOf,
  ownValue,
  partsInside,
  partsOf,
  reaching,
  type SchemaNode,
  withoutWrappers,
} from "../schema/node.js";

/**
 * Kind of a value that is known without decoding it: `wire.kindOf` finds it for a JavaScript value, `wire.kindAt` for
 * the first byte of a MessagePack value.
 */
export type ValueKind = "string" | "number" | "bigint" | "boolean" | "null" | "array" | "object" | "bytes" | "date";
export type Side = "write" | "read";

const SCALARS = ["string", "number", "bigint", "boolean", "null"] as const;
const ALL: Readonly<Record<Side, readonly ValueKind[]>> = {
  write: [...SCALARS, "array", "object"],
  read: [...SCALARS, "array", "object", "bytes", "date"],
};

const KINDS: Readonly<Record<string, Readonly<Record<Side, readonly ValueKind[]>>>> = {
  ...always("string", "string", "template"),
  ...always("bigint", "bigint"),
  ...always("boolean", "boolean"),
  ...always("null", "null"),
  ...always("object", "object", "record", "discriminated", "map"),
  ...always("array", "array", "tuple"),
  any: ALL,
  // Senders may write an integer as a 64-bit integer.
  number: { write: ["number"], read: ["number", "bigint"] },
  set: { write: ["object"], read: ["array"] },
  date: { write: ["object"], read: ["date"] },
  bytes: { write: ["object"], read: ["bytes"] },
};

/** Returns table entries for kinds of schemas whose values have the same kind when writing and when reading. */
function always(kind: ValueKind, ...nodes: readonly string[]): typeof KINDS {
  return Object.fromEntries(nodes.map((node) => [node, { write: [kind], read: [kind] }]));
}

/** Kinds of schemas whose values have the kinds of their inner schemas. */
const TRANSPARENT: ReadonlySet<string> = new Set(["nullable", "frozen", "refined", "union"]);
const transparentParts = partsInside(TRANSPARENT);

/**
 * Returns the kinds of the values of `node`, as `wire.kindOf` finds them when writing and `wire.kindAt` when reading.
 * Returns undefined if they are unknown.
 */
export function kindsOf(node: SchemaNode, side: Side): readonly ValueKind[] | undefined {
  return KINDS_OF[side](node);
}

const KINDS_OF: Readonly<Record<Side, (node: SchemaNode) => readonly ValueKind[] | undefined>> = {
  write: factOf((node) => findKinds(node, "write"), undefined),
  read: factOf((node) => findKinds(node, "read"), undefined),
};

function findKinds(node: SchemaNode, side: Side): readonly ValueKind[] | undefined {
  if (node.kind === "literal") return node.values.every((value) => typeof value === "string") ? ["string"] : undefined;
  if (!TRANSPARENT.has(node.kind)) return KINDS[node.kind]?.[side];
  const kinds = partsOf(node).map((part) => kindsOf(part, side));
  if (!kinds.every((each) => each !== undefined)) return undefined;
  return [...new Set([...(node.kind === "nullable" ? (["null"] as const) : []), ...kinds.flat()])];
}

/** Returns true if the option at `index` must be tried, because a later option accepts values of the same kind. */
export function isTried({ options }: NodeOf<"union">, index: number, side: Side): boolean {
  const own = options[index] && kindsOf(options[index], side);
  return options.slice(index + 1).some((later) => kindsOf(later, side)?.some((kind) => own?.includes(kind)) ?? true);
}

/**
 * Returns true if compiled code can select the option of a union by the kind of a value, or by trying options. An
 * option that is tried must not contain another union with tried options, because the number of attempts would
 * multiply.
 */
export function isTellable(node: NodeOf<"union">): boolean {
  const written = kindsOf(node, "write");
  // If one of the options accepts bigints, a 64-bit integer is read as a bigint, regardless of the order of the
  // options.
  if (written === undefined) return false;
  const hasBigints = node.options.some((option) => {
    const kinds = kindsOf(option, "write") ?? [];
    return kinds.includes("bigint") && kinds.length < ALL.write.length;
  });
  if (hasBigints && written.includes("number")) return false;
  // zod accepts bytes and dates as objects, but the compiled reader of an object does not.
  const objects = node.options.findIndex(takesObjects);
  const others = node.options.findLastIndex((option) => {
    const kinds = kindsOf(option, "read");
    return kinds === undefined || kinds.includes("bytes") || kinds.includes("date");
  });
  if (objects >= 0 && objects < others) return false;
  const mistaken = node.options.some((option, index) =>
    node.options.slice(0, index).some((earlier) => mayMistake(earlier, option)),
  );
  if (mistaken) return false;
  return !isAmbiguous(node) || !node.options.some(hasAmbiguous);
}

/**
 * Returns true if a value that `later` accepts and `earlier` refuses may match `earlier` after it is written, because
 * undeclared keys are not sent. Also returns true if that cannot be determined.
 */
function mayMistake(earlier: SchemaNode, later: SchemaNode, compared: ComparedPairs = new Map()): boolean {
  if (earlier === later || !dropsKeys(later) || !isNew(compared, earlier, later)) return false;
  if (areDisjoint(earlier, later)) return false;
  const [a, b] = [withoutAbsence(earlier), withoutAbsence(later)];
  if (a.kind === "array" && b.kind === "array") return mayMistake(a.element, b.element, compared);
  if (a.kind !== "object" || b.kind !== "object" || a.others !== "strip") return true;
  return Object.entries(a.fields).some(([name, field]) => {
    const other = ownValue(b.fields, name);
    return other === undefined ? b.others === "strip" : mayMistake(field, other, compared);
  });
}

/**
 * Pairs of schemas that a comparison has visited. Each pair is compared once, so the comparison of recursive schemas
 * ends.
 */
type ComparedPairs = Map<SchemaNode, Set<SchemaNode>>;

/** Adds a pair, and returns false if it was there already. */
function isNew(compared: ComparedPairs, left: SchemaNode, right: SchemaNode): boolean {
  const others = compared.get(left) ?? new Set();
  if (others.has(right)) return false;
  compared.set(left, others.add(right));
  return true;
}

/**
 * Returns true if no value of `later`, without its undeclared keys, matches `earlier`. Returns false if that cannot be
 * determined.
 */
function areDisjoint(earlier: SchemaNode, later: SchemaNode, compared: ComparedPairs = new Map()): boolean {
  if (!isNew(compared, earlier, later)) return false;
  const [a, b] = [bare(earlier), bare(later)];
  if (a.kind === "literal" && b.kind === "literal") return a.values.every((value) => !b.values.includes(value));
  const [kinds, others] = [kindsOf(a, "write"), kindsOf(b, "write")];
  if (kinds !== undefined && others !== undefined && !kinds.some((kind) => others.includes(kind))) return true;
  if (a.kind !== "object" || b.kind !== "object") return false;
  return Object.entries(a.fields).some(([name, field]) => {
    if (field.optin !== undefined || mayBeUndefined(field) || bare(field).kind === "any") return false;
    const other = ownValue(b.fields, name);
    return other === undefined ? typeof b.others === "string" && hasKinds(field) : areDisjoint(field, other, compared);
  });
}

function hasKinds(node: SchemaNode): boolean {
  return bare(node).kind === "literal" || kindsOf(node, "write") !== undefined;
}

function bare(node: SchemaNode): SchemaNode {
  return withoutWrappers(node, SAME_VALUES);
}

const SAME_VALUES: ReadonlySet<string> = new Set(["frozen", "refined"]);

function withoutAbsence(node: SchemaNode): SchemaNode {
  return withoutWrappers(node, MAYBE_ABSENT);
}

const MAYBE_ABSENT: ReadonlySet<string> = new Set("optional exactOptional nullable default frozen".split(" "));

const takesObjects = reaching(({ kind }) => kind === "object", transparentParts);

function isAmbiguous(node: NodeOf<"union">): boolean {
  return node.options.some((_, index) => isTried(node, index, "write") || isTried(node, index, "read"));
}

const hasAmbiguous = reaching((node) => node.kind === "union" && isAmbiguous(node));
