import type { CheckNode, SchemaNode } from "../schema/node.js";
import type { ProtoScalar, ProtoType, ScalarName } from "./model.js";
import { UnmappableError, type Value } from "./value.js";

/** A protobuf type that needs no declaration. */
export type SimpleType = Extract<ProtoType, { readonly name: string }>;

/** Scalar types that keys of a protobuf `map` field may have. */
export const MAP_KEYS: ReadonlySet<string> = new Set(
  "bool fixed32 fixed64 int32 int64 sfixed32 sfixed64 sint32 sint64 string uint32 uint64".split(" "),
);

const MAX_INT32 = 2 ** 31 - 1;
const SCALARS: Readonly<Record<string, ScalarName>> = {
  string: "string",
  template: "string",
  boolean: "bool",
  bytes: "bytes",
};
/** Scalar types of literals, by the JavaScript type of their values. */
const LITERALS: Readonly<Record<string, ScalarName>> = {
  string: "string",
  number: "double",
  boolean: "bool",
  bigint: "int64",
};
/** Encodings that `proto` in the metadata of a number selects, with the types that they may replace. */
const ENCODINGS: Readonly<Partial<Record<ScalarName, ScalarName>>> = {
  sint32: "int32",
  sfixed32: "int32",
  fixed32: "uint32",
  sint64: "int64",
  sfixed64: "int64",
  fixed64: "uint64",
};
const KNOWN = {
  date: "google.protobuf.Timestamp",
  any: "google.protobuf.Value",
  null: "google.protobuf.NullValue",
} as const;

export function scalar(name: ScalarName, isBig: boolean = false): ProtoScalar {
  return { kind: "scalar", name, isBig };
}

/** Returns the protobuf type of a value; undefined if the type needs a declaration. */
export function simpleType(value: Value): SimpleType | undefined {
  const type = plainType(value);
  const { mark } = value;
  if (typeof mark !== "string" || type?.kind !== "scalar") return type;
  const isExact = type.isBig === true || !mark.endsWith("64");
  if (ENCODINGS[mark as ScalarName] === type.name && isExact) return { ...type, name: mark as ScalarName };
  throw new UnmappableError(value.node, `a ${type.name} encoded as ${mark}`, "Correct proto in its metadata.");
}

function plainType({ node, checks, values }: Value): SimpleType | undefined {
  if (values !== undefined) {
    const [type, ...others] = new Set(values.map((value) => typeof value));
    const name = LITERALS[String(type)];
    return others.length > 0 || name === undefined ? undefined : { ...scalar(name, type === "bigint"), values };
  }
  const { kind } = node;
  if (kind === "number") return scalar(numberName(checks));
  if (kind === "bigint") return scalar(hasFormat(checks, "uint64") ? "uint64" : "int64", true);
  if (kind === "date" || kind === "any" || kind === "null") return { kind: "known", name: KNOWN[kind] };
  const name = SCALARS[kind];
  return name && scalar(name);
}

/** Returns the common protobuf type of all `options`; undefined if they differ or need a declaration. */
export function commonType(options: readonly Value[]): SimpleType | undefined {
  const types = options.map((option) => simpleType(option));
  const [first] = types;
  if (first === undefined || !types.every((type) => type?.name === first.name)) return undefined;
  return first.kind === "known" ? first : commonScalar(types.filter((type) => type?.kind === "scalar"));
}

/** Combines scalar types with the same name into one that accepts the values of all of them. */
export function commonScalar(types: readonly ProtoScalar[]): ProtoScalar {
  const [{ name } = scalar("string")] = types;
  const isLiteral = types.every(({ values }) => values !== undefined);
  const values = isLiteral ? types.flatMap(({ values = [] }) => values) : undefined;
  return {
    ...scalar(
      name,
      types.every(({ isBig }) => isBig),
    ),
    values,
  };
}

export function isTexts({ values = [] }: Value): boolean {
  return values.length > 0 && values.every((value) => typeof value === "string");
}

function hasFormat(checks: readonly CheckNode[], format: string): boolean {
  return checks.some((check) => "format" in check && check.format === format);
}

/**
 * Returns the scalar type of a number. It depends only on formats, so that a changed bound does not change the type.
 */
function numberName(checks: readonly CheckNode[]): ScalarName {
  if (hasFormat(checks, "float32")) return "float";
  for (const name of ["int32", "uint32"] as const) if (hasFormat(checks, name)) return name;
  return checks.some(({ kind }) => kind === "integer") ? "int64" : "double";
}

/** Returns the members of an enum whose values are 32-bit integers, by name; undefined for other enums. */
export function numericMembers(node: SchemaNode, values: readonly unknown[]): ReadonlyMap<string, number> | undefined {
  if (node.kind !== "literal" || node.entries === undefined) return undefined;
  if (!values.every((value) => Number.isInteger(value) && Math.abs(Number(value)) <= MAX_INT32)) return undefined;
  const members = new Map<number, string>();
  for (const [name, value] of Object.entries(node.entries)) {
    if (typeof value === "number" && !members.has(value)) members.set(value, name);
  }
  return new Map(Array.from(members, ([number, name]) => [name, number]));
}
