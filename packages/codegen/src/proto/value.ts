import { isBlob } from "../blobs.js";
import {
  canonicalNode,
  type CheckNode,
  isFunction,
  type NodeOf,
  ownStructure,
  type SchemaNode,
} from "../schema/node.js";

/** The error for a method that cannot be in the `.proto` file. */
export class ProtoError extends Error {
  /** The schema that causes the error; undefined if there is none. */
  readonly node: SchemaNode | undefined;
  readonly help: string;
  /** Keys that lead to the schema in the message. */
  readonly path: string[] = [];

  constructor(node: SchemaNode | undefined, message: string, help: string) {
    super(message);
    this.node = node;
    this.help = help;
  }
}

export class UnmappableError extends ProtoError {
  /** @param reason description of the schema, such as "a blob" */
  constructor(node: SchemaNode, reason: string, help: string) {
    super(node, `Protobuf has no form for ${reason}`, help);
  }
}

export class NameClashError extends ProtoError {}

/** The value that a sender encodes for a schema, without wrappers and functions around it. */
export interface Value {
  readonly node: SchemaNode;
  readonly checks: readonly CheckNode[];
  /** Options of a union, except null and undefined. */
  readonly options?: readonly Value[];
  /** Values of a literal, or of a union of texts, except null and undefined. */
  readonly values?: readonly unknown[];
  readonly isOptional: boolean;
  readonly isNullable: boolean;
  /** Content of `proto` in the schema's metadata. */
  readonly mark?: unknown;
  /** Content of `protoReserved` next to `mark`. */
  readonly reserved?: unknown;
}

/** Returns the value in JavaScript if a field is absent; undefined if the field cannot be absent. */
export function absentOf({ isOptional, isNullable }: Value): "undefined" | "null" | undefined {
  return isOptional ? "undefined" : isNullable ? "null" : undefined;
}

export function valueOf(node: SchemaNode): Value {
  const value = unmarkedValue(node);
  const { proto, protoReserved } = node.meta;
  return proto === undefined ? value : { ...value, mark: proto, reserved: protoReserved };
}

function unmarkedValue(node: SchemaNode): Value {
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
      // Checks after a function apply to its result, not to the value that is sent.
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

/** Returns true if a union is the schema that `z.json()` creates. */
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

/** Returns the result of `make`. If it throws a `ProtoError`, adds `key` to the beginning of the error's path. */
export function at<Result>(key: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (error instanceof ProtoError) error.path.unshift(key);
    throw error;
  }
}
