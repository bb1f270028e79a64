import { constantOf, type SchemaNode, takesAnyKey } from "../schema/node.js";

/**
 * Returns the part of `node` that concerns a value that is there: absence, defaults and values to fall back on are the business of the
 * object around it, or of its shape.
 */
export function present(node: SchemaNode): SchemaNode {
  switch (node.kind) {
    case "optional":
    case "exactOptional":
    case "default":
    case "prefault":
    case "caught":
    case "nonOptional":
      return present(node.inner);
    default:
      return node;
  }
}

/** Whether code of its own reads and writes `node`; if not, its shape does. */
export function isCompiled(node: SchemaNode): boolean {
  switch (node.kind) {
    case "string":
    case "number":
    case "bigint":
    case "date":
    case "boolean":
    case "bytes":
    case "null":
    case "any":
    case "template":
      return true;
    case "literal":
      return (
        node.values.length > 0 && node.values.every((value) => typeof value === "string") && isPlainEnum(node.entries)
      );
    case "nullable":
    case "frozen":
    case "refined":
      return isCompiled(present(node.inner));
    default:
      return hasOwnCode(node);
  }
}

/** Whether values of `node` may be numbers, of any size, as far as compiled code knows. */
export function mayBeNumber(node: SchemaNode): boolean {
  switch (node.kind) {
    case "nullable":
    case "frozen":
    case "refined":
      return mayBeNumber(present(node.inner));
    case "number":
    case "bigint":
    case "any":
      return true;
    default:
      return !isCompiled(node) && node.kind !== "literal";
  }
}

/** Whether `node`, which is built, is read and written by functions of its own. */
export function hasOwnCode(node: SchemaNode): boolean {
  let answer = answers.get(node);
  if (answer === undefined) {
    answer = findOwnCode(node);
    answers.set(node, answer);
  }
  return answer;
}

const answers = new WeakMap<SchemaNode, boolean>();

function findOwnCode(node: SchemaNode): boolean {
  switch (node.kind) {
    case "object":
      return (
        (node.others === "strip" || node.others === "strict") &&
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
    default:
      return false;
  }
}

/** Whether the values are written as they are typed: those of a TypeScript enum are types of their own. */
export function isPlainEnum(entries: Readonly<Record<string, unknown>> = {}): boolean {
  return Object.entries(entries).every(([key, value]) => key === value);
}

/** How a field of an object may be absent. */
export type Presence = "required" | "optional" | "exactOptional" | "default";

/** The effect of a field's absence, as far as compiled code knows it; otherwise its shape decides. */
export function presenceOf(node: SchemaNode): Presence {
  if (node.kind === "default" && constantOf(node)?.value !== undefined) return "default";
  // A default somewhere inside takes the place of what is absent.
  if (node.optin === "defaulted") return "required";
  switch (node.kind) {
    case "optional":
    case "exactOptional":
      return node.kind;
    case "nullable":
      return node.inner.kind === "optional" ? "optional" : "required";
    default:
      return "required";
  }
}
