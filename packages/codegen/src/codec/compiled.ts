import type { CodecNode } from "./node.js";

/**
 * Returns the part of `node` that concerns a value that is there: absence, defaults and values to fall back on are the business of the
 * object around it, or of its shape.
 */
export function present(node: CodecNode): CodecNode {
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
export function isCompiled(node: CodecNode): boolean {
  switch (node.kind) {
    case "string":
    case "number":
    case "bigint":
    case "date":
    case "boolean":
    case "bytes":
    case "nil":
    case "any":
    case "template":
      return true;
    case "literal":
      return node.values.length > 0 && node.values.every((value) => typeof value === "string") && isPlainEnum(node);
    case "nullable":
    case "frozen":
    case "refined":
      return isCompiled(present(node.inner));
    default:
      return hasOwnCode(node);
  }
}

/** Whether values of `node` may be numbers, of any size, as far as compiled code knows. */
export function mayBeNumber(node: CodecNode): boolean {
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
export function hasOwnCode(node: CodecNode): boolean {
  let answer = answers.get(node);
  if (answer === undefined) {
    answer = findOwnCode(node);
    answers.set(node, answer);
  }
  return answer;
}

const answers = new WeakMap<CodecNode, boolean>();

function findOwnCode(node: CodecNode): boolean {
  switch (node.kind) {
    case "object":
      return (
        (node.others === "strip" || node.others === "strict") &&
        node.fields.every(({ name }) => !(name in Object.prototype) && new TextEncoder().encode(name).length < 0x100)
      );
    case "array":
    case "set":
    case "map":
      return true;
    case "record":
      return node.keys.kind === "any";
    case "tuple":
      return node.rest === undefined && node.items.every((item) => present(item) === item && item.kind !== "nothing");
    case "discriminated":
      return node.options.every(
        ({ values, node: option }) =>
          option.kind === "object" && hasOwnCode(option) && values.every((value) => typeof value === "string"),
      );
    default:
      return false;
  }
}

/** Whether the values are written as they are typed: those of a TypeScript enum are types of their own. */
function isPlainEnum(node: CodecNode): boolean {
  const { def } = node.schema._zod as unknown as {
    readonly def: { readonly entries?: Readonly<Record<string, unknown>> };
  };
  return Object.entries(def.entries ?? {}).every(([key, value]) => key === value);
}

/** How a field of an object may be absent. */
export type Presence = "required" | "optional" | "exactOptional" | "default";

/** The effect of a field's absence, as far as compiled code knows it; otherwise its shape decides. */
export function presenceOf(node: CodecNode): Presence {
  if (node.kind === "default" && node.value.kind === "constant" && node.value.value !== undefined) return "default";
  // A default somewhere inside takes the place of what is absent.
  if (node.schema._zod.optin === "defaulted") return "required";
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
