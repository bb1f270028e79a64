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
  unwrapped,
} from "../schema/node.js";

/** The kind of a value as far as it is known without decoding it: by `wire.kindOf` from a JavaScript value, by `wire.kindAt` from its first byte in MessagePack. */
export type ValueKind = "string" | "number" | "bigint" | "boolean" | "null" | "array" | "object" | "bytes" | "date";
export type Side = "write" | "read";

const SCALARS = ["string", "number", "bigint", "boolean", "null"] as const;
const ALL: Readonly<Record<Side, readonly ValueKind[]>> = {
  write: [...SCALARS, "array", "object"],
  read: [...SCALARS, "array", "object", "bytes", "date"],
};

/** The kinds of the values of nodes, by the kind of the node. */
const KINDS: Readonly<Record<string, Readonly<Record<Side, readonly ValueKind[]>>>> = {
  ...always("string", "string", "template"),
  ...always("bigint", "bigint"),
  ...always("boolean", "boolean"),
  ...always("null", "null"),
  ...always("object", "object", "record", "discriminated", "map"),
  ...always("array", "array", "tuple"),
  any: ALL,
  // Senders may write integers with 64 bits.
  number: { write: ["number"], read: ["number", "bigint"] },
  set: { write: ["object"], read: ["array"] },
  date: { write: ["object"], read: ["date"] },
  bytes: { write: ["object"], read: ["bytes"] },
};

/** Returns the entries of nodes whose values have one kind when writing and when reading. */
function always(kind: ValueKind, ...nodes: readonly string[]): typeof KINDS {
  return Object.fromEntries(nodes.map((node) => [node, { write: [kind], read: [kind] }]));
}

/** Wrappers around values of the same kinds. */
const TRANSPARENT: ReadonlySet<string> = new Set(["nullable", "frozen", "refined", "union"]);
const transparentParts = partsInside(TRANSPARENT);

/**
 * Returns the kinds of the values of `node`: those that `wire.kindOf` finds when writing, and `wire.kindAt` when
 * reading. Returns undefined if they are unknown.
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

/** Returns true if the option at `index` has to be tried, because a later option accepts values of the same kinds. */
export function isTried({ options }: NodeOf<"union">, index: number, side: Side): boolean {
  const own = options[index] && kindsOf(options[index], side);
  return options.slice(index + 1).some((later) => kindsOf(later, side)?.some((kind) => own?.includes(kind)) ?? true);
}

/**
 * Returns true if compiled code can distinguish the options of a union by their kinds, or by trying them. An option that
 * is tried must not contain another such union, because then values would be read as many times as the product of their
 * options.
 */
export function isTellable(node: NodeOf<"union">): boolean {
  const written = kindsOf(node, "write");
  // A bigint is one where an option takes bigints, whichever comes first.
  if (written === undefined) return false;
  const hasBigints = node.options.some((option) => {
    const kinds = kindsOf(option, "write") ?? [];
    return kinds.includes("bigint") && kinds.length < ALL.write.length;
  });
  if (hasBigints && written.includes("number")) return false;
  // zod takes bytes and dates for objects: the reader of an object does not.
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
 * Returns true if a value of `later` that `earlier` refuses may match `earlier` after it is written, because undeclared
 * keys are not sent. Returns true in doubt.
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

/** Pairs that one comparison has visited. Each is compared once, which also ends the comparison of recursive schemas. */
type ComparedPairs = Map<SchemaNode, Set<SchemaNode>>;

/** Adds a pair. Returns false if it was there. */
function isNew(compared: ComparedPairs, left: SchemaNode, right: SchemaNode): boolean {
  const others = compared.get(left) ?? new Set();
  if (others.has(right)) return false;
  compared.set(left, others.add(right));
  return true;
}

/** Returns true if no value of `later`, without its undeclared keys, matches `earlier`. Returns false in doubt. */
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

/** Returns the schema inside of wrappers that do not change what matches. */
function bare(node: SchemaNode): SchemaNode {
  return unwrapped(node, SAME_VALUES);
}

const SAME_VALUES: ReadonlySet<string> = new Set(["frozen", "refined"]);

/** Returns the schema of a value that is present and not null. */
function withoutAbsence(node: SchemaNode): SchemaNode {
  return unwrapped(node, MAYBE_ABSENT);
}

const MAYBE_ABSENT: ReadonlySet<string> = new Set("optional exactOptional nullable default frozen".split(" "));

const takesObjects = reaching(({ kind }) => kind === "object", transparentParts);

function isAmbiguous(node: NodeOf<"union">): boolean {
  return node.options.some((_, index) => isTried(node, index, "write") || isTried(node, index, "read"));
}

const hasAmbiguous = reaching((node) => node.kind === "union" && isAmbiguous(node));
