import { isBlob } from "../blobs.js";
import {
  canonicalNode,
  type CheckNode,
  isFunction,
  type NodeOf,
  ownStructure,
  type SchemaNode,
} from "../schema/node.js";

/** Reports that a method cannot be in the `.proto` file. */
export class ProtoError extends Error {
  /** The schema that is the reason, if there is one. */
  readonly node: SchemaNode | undefined;
  readonly help: string;
  /** Keys that lead to it in the message. */
  readonly path: string[] = [];

  constructor(node: SchemaNode | undefined, message: string, help: string) {
    super(message);
    this.node = node;
    this.help = help;
  }
}

/** Reports that protobuf has no form for a schema. */
export class UnmappableError extends ProtoError {
  /** @param reason what it is, as in "a blob" */
  constructor(node: SchemaNode, reason: string, help: string) {
    super(node, `Protobuf has no form for ${reason}`, help);
  }
}

/** Reports that a name has two meanings. */
export class NameClashError extends ProtoError {}

/** What a schema sends, without the wrappers and functions around it. */
export interface Value {
  readonly node: SchemaNode;
  /** The checks on it. */
  readonly checks: readonly CheckNode[];
  /** The options of a union, without null and undefined. */
  readonly options?: readonly Value[];
  /** The values of a literal, or of a union of texts, without null and undefined. */
  readonly values?: readonly unknown[];
  /** Whether it may be absent, or null. */
  readonly isOptional: boolean;
  readonly isNullable: boolean;
}

/** Returns what the sender of `node` sends. Throws `UnmappableError` if it has no form. */
export function valueOf(node: SchemaNode): Value {
  if (isBlob(node.schema)) throw new UnmappableError(node, "a blob", "Stream bytes() instead.");
  switch (node.kind) {
    case "optional":
    case "exactOptional":
    case "default":
    case "prefault":
    case "caught":
      return { ...valueOf(node.inner), isOptional: true };
    case "nullable":
      return { ...valueOf(node.inner), isNullable: true };
    case "nonOptional":
      return { ...valueOf(node.inner), isOptional: false };
    case "frozen":
      return valueOf(node.inner);
    case "refined": {
      const value = valueOf(node.inner);
      return { ...value, checks: [...value.checks, ...node.checks] };
    }
    case "external":
      return valueOf(node.structure);
    case "pipe":
      // Checks on the result of a function are not checks on what is sent.
      return isFunction(node.from) ? { ...valueOf(node.to), checks: [] } : valueOf(node.from);
    case "union":
      if (isJson(node)) return { node: { ...node, kind: "any" }, checks: [], isOptional: false, isNullable: false };
      return choiceOf(node, node.options.map(valueOf));
    case "literal": {
      const values = node.values.filter((value) => value !== null && value !== undefined);
      const states = { isOptional: node.values.includes(undefined), isNullable: node.values.includes(null) };
      return { node, checks: [], values, ...states };
    }
    case "custom":
    case "transform":
    case "success":
    case "never":
    case "other":
      throw new UnmappableError(node, "a value that only the schema's own code knows", "Write the type that is sent.");
    default:
      return { node, checks: "checks" in node ? node.checks : [], isOptional: false, isNullable: false };
  }
}

/** Returns true for `z.json()`. */
function isJson({ schema, options }: NodeOf<"union">): boolean {
  const kinds = options.map(({ kind }) => kind).join(" ");
  const lists = options.flatMap((option) => ("element" in option ? [ownStructure(canonicalNode(option.element))] : []));
  return kinds === "string number boolean null array record" && lists.every((each) => each.schema === schema);
}

function choiceOf(node: SchemaNode, all: readonly Value[]): Value {
  const isKind =
    (kind: string) =>
    (value: Value): boolean =>
      value.node.kind === kind;
  const states = {
    isOptional: all.some((value) => value.isOptional || isKind("undefined")(value)),
    isNullable: all.some((value) => value.isNullable || isKind("null")(value)),
  };
  const given = all.filter((value) => !isKind("null")(value) && !isKind("undefined")(value));
  const any = given.find(isKind("any"));
  if (any !== undefined) return any;
  const options = given.flatMap((value) => value.options ?? [{ ...value, isOptional: false, isNullable: false }]);
  const [first = { node, checks: [] }] = options;
  if (options.length <= 1) return { ...first, ...states };
  const isText = ({ values }: Value): boolean => values?.every((value) => typeof value === "string") === true;
  return options.every(isText)
    ? { node, checks: [], values: [...new Set(options.flatMap(({ values = [] }) => values))], ...states }
    : { node, checks: [], options, ...states };
}

/** Runs `make`; if the part at `key` has no form, its path begins with `key`. */
export function at<Result>(key: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (error instanceof ProtoError) error.path.unshift(key);
    throw error;
  }
}
