import { dropsKeys } from "./parts.js";
import { mayBeUndefined } from "../schema/optional.js";
import { type NodeOf, partsOf, type SchemaNode, unwrapped } from "../schema/node.js";

/** The kind of a value as far as it is known without decoding it: by `wire.kindOf` from a JavaScript value, by `wire.kindAt` from its first byte in MessagePack. */
export type ValueKind = "string" | "number" | "bigint" | "boolean" | "null" | "array" | "object" | "bytes" | "date";
export type Side = "write" | "read";

const SCALARS = ["string", "number", "bigint", "boolean", "null"] as const;
const ALL: Readonly<Record<Side, readonly ValueKind[]>> = {
  write: [...SCALARS, "array", "object"],
  read: [...SCALARS, "array", "object", "bytes", "date"],
};

/**
 * Returns the kinds of the values of `node`: those that `wire.kindOf` finds when writing, and `wire.kindAt` when
 * reading. Returns undefined if they are unknown.
 */
export function kindsOf(
  node: SchemaNode,
  side: Side,
  open: ReadonlySet<SchemaNode> = new Set(),
): readonly ValueKind[] | undefined {
  if (open.has(node)) return undefined;
  const inside = new Set([...open, node]);
  const isRead = side === "read";
  switch (node.kind) {
    case "string":
    case "template":
      return ["string"];
    case "literal":
      return node.values.every((value) => typeof value === "string") ? ["string"] : undefined;
    case "number":
      // Senders may write integers with 64 bits.
      return isRead ? ["number", "bigint"] : ["number"];
    case "bigint":
    case "boolean":
    case "null":
      return [node.kind];
    case "any":
      return ALL[side];
    case "object":
    case "record":
    case "discriminated":
    case "map":
      return ["object"];
    case "array":
    case "tuple":
      return ["array"];
    case "set":
      return [isRead ? "array" : "object"];
    case "date":
    case "bytes":
      return [isRead ? node.kind : "object"];
    case "nullable": {
      const kinds = kindsOf(node.inner, side, inside);
      return kinds && ["null", ...kinds];
    }
    case "frozen":
    case "refined":
      return kindsOf(node.inner, side, inside);
    case "union": {
      const kinds = node.options.map((option) => kindsOf(option, side, inside));
      return kinds.every((each) => each !== undefined) ? [...new Set(kinds.flat())] : undefined;
    }
    default:
      return undefined;
  }
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
  return node.options.every((option) => !isAmbiguous(node) || !hasAmbiguous(option, new Set([node])));
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
    const other = b.fields[name];
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
    const other = b.fields[name];
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

const TRANSPARENT: ReadonlySet<string> = new Set(["nullable", "frozen", "refined", "union"]);

function takesObjects(node: SchemaNode): boolean {
  return node.kind === "object" || (TRANSPARENT.has(node.kind) && partsOf(node).some(takesObjects));
}

function isAmbiguous(node: NodeOf<"union">): boolean {
  return node.options.some((_, index) => isTried(node, index, "write") || isTried(node, index, "read"));
}

/** Returns true if `node` contains an ambiguous union, or one of `around`. */
function hasAmbiguous(node: SchemaNode, around: ReadonlySet<SchemaNode>, seen: Set<SchemaNode> = new Set()): boolean {
  if (around.has(node)) return true;
  if (seen.has(node)) return false;
  seen.add(node);
  if (node.kind === "union" && isAmbiguous(node)) return true;
  return partsOf(node).some((part) => hasAmbiguous(part, around, seen));
}
