import { constantOf, factOf, type NodeOf, type SchemaNode, takesAnyKey, unwrapped } from "../schema/node.js";
import { isTellable } from "./kinds.js";

/** Kinds of nodes for absence, defaults and fallbacks. */
const ABSENCE: ReadonlySet<string> = new Set("optional exactOptional default prefault caught nonOptional".split(" "));

/**
 * Returns the part of `node` that concerns present values. The surrounding object, or the shape, handles absence,
 * defaults and fallbacks.
 */
export function present(node: SchemaNode): SchemaNode {
  return unwrapped(node, ABSENCE);
}

/** Returns the node inside `nullable`, `frozen` or `refined`; undefined for other nodes. */
export function wrappedIn(node: SchemaNode): SchemaNode | undefined {
  return node.kind === "nullable" || node.kind === "frozen" || node.kind === "refined"
    ? present(node.inner)
    : undefined;
}

/** Kinds that one function of the runtime reads and another writes, with the ends of the names of these functions. */
const SCALARS: Readonly<Record<string, string>> = {
  string: "String",
  literal: "String",
  template: "String",
  number: "Number",
  bigint: "BigInt",
  date: "Date",
  boolean: "Boolean",
  bytes: "Bytes",
  null: "Nil",
  any: "Any",
};

/** Returns the end of the names of the functions that read and write a scalar, as in `readInt`; undefined for other nodes. */
export function scalarName(node: SchemaNode): string | undefined {
  if (node.kind === "number" && node.checks.some((check) => check.kind === "integer")) return "Int";
  return isCompiled(node) ? SCALARS[node.kind] : undefined;
}

/** Returns true if `node` has compiled code, and false if its shape reads and writes it. */
export function isCompiled(node: SchemaNode): boolean {
  if (node.kind === "literal") {
    return (
      node.values.length > 0 && node.values.every((value) => typeof value === "string") && isPlainEnum(node.entries)
    );
  }
  const inner = wrappedIn(node);
  if (node.kind === "bytes") return node.view === undefined;
  if (inner === undefined) return node.kind in SCALARS || hasOwnCode(node);
  return isCompiled(inner) && !(node.kind === "refined" && isConditional(inner));
}

/** Returns true if inlined code that reads or writes `node` has to compare its value with something. */
function isConditional(node: SchemaNode): boolean {
  if (node.kind === "nullable" || node.kind === "frozen") return isConditional(present(node.inner));
  if (node.kind === "literal" || node.kind === "template") return true;
  return node.kind in SCALARS && "checks" in node && node.checks.length > 0;
}

/** Returns what a writer passes to the checks of a refined node: the result of reading what was written, or the value itself. */
export function checkedBy(node: NodeOf<"refined">): "reading" | "value" | undefined {
  if (!isCompiled(node)) return undefined;
  const inner = present(node.inner);
  return hasOwnCode(inner) ? "reading" : isScalar(inner) ? "value" : undefined;
}

function isScalar(node: SchemaNode): boolean {
  if (node.kind === "nullable" || node.kind === "frozen") return isScalar(present(node.inner));
  return !hasOwnCode(node) && node.kind !== "refined";
}

/** Returns true if values of `node` may be numbers of any size, as far as compiled code knows. */
export function mayBeNumber(node: SchemaNode): boolean {
  if (node.kind === "union") return node.options.some(mayBeNumber);
  const inner = wrappedIn(node);
  if (inner !== undefined) return mayBeNumber(inner);
  return ["number", "bigint", "any"].includes(node.kind) || (!isCompiled(node) && node.kind !== "literal");
}

/** Returns true if `node` is read and written by functions of its own. */
export const hasOwnCode: (node: SchemaNode) => boolean = factOf(findOwnCode, false);

function findOwnCode(node: SchemaNode): boolean {
  switch (node.kind) {
    case "object":
      return (
        (typeof node.others === "string" || node.others.kind === "any") &&
        Object.keys(node.fields).every(
          (name) => !(name in Object.prototype) && new TextEncoder().encode(name).length < 0x100,
        )
      );
    case "array":
    case "set":
    case "map":
      return true;
    case "record":
      return takesAnyKey(node);
    case "tuple":
      return node.rest === undefined && node.items.every((item) => present(item) === item && item.kind !== "undefined");
    case "discriminated":
      return node.options.every(
        ([value, option]) => option.kind === "object" && hasOwnCode(option) && typeof value === "string",
      );
    case "union":
      return isTellable(node) && node.options.every((option) => present(option) === option && isCompiled(option));
    default:
      return false;
  }
}

/** Returns true for an object that compiled code reads and writes with its undeclared fields. */
export function isLoose(node: SchemaNode): boolean {
  return node.kind === "object" && typeof node.others === "object" && hasOwnCode(node);
}

/** Returns true if values are typed as written. Members of a TypeScript enum have types of their own. */
export function isPlainEnum(entries: Readonly<Record<string, unknown>> = {}): boolean {
  return Object.entries(entries).every(([key, value]) => key === value);
}

/** How a field of an object may be absent. */
export type Presence = "required" | "optional" | "exactOptional" | "default";

/** Returns how a field may be absent, as far as compiled code knows; otherwise its shape decides. */
export function presenceOf(node: SchemaNode): Presence {
  if (node.kind === "default" && constantOf(node)?.value !== undefined) return "default";
  // A default somewhere inside takes the place of what is absent.
  if (node.optin === "defaulted") return "required";
  if (node.kind === "optional" || node.kind === "exactOptional") return node.kind;
  return node.kind === "nullable" && node.inner.kind === "optional" ? "optional" : "required";
}
