import { quoted } from "../print/text.js";
import {
  type Declared,
  isMessage,
  type OneofType,
  type ProtoField,
  type ProtoScalar,
  type ProtoType,
  type ScalarName,
  type SingleType,
} from "./model.js";

export interface Place {
  readonly field: ProtoField;
  readonly name: string;
  readonly isInOneof: boolean;
}

/** Returns true for the field with the further items of a tuple. */
export function isRest({ field }: Place): boolean {
  return field.label === "repeated" && field.key === "rest";
}

/**
 * Returns the statements that write a field's tag, and then the value by the expression that `write` returns for a
 * position.
 */
export function tagged(number: number, wire: number, result: string, write: (at: string) => string): string[] {
  const bytes = varint(tagOf(number, wire));
  const stores = bytes.map((byte, index) => `b[${index === 0 ? "p" : `p + ${index}`}] = ${byte};`);
  return [...stores, `${result}${write(`p + ${bytes.length}`)};`];
}

/** Returns the bytes of an integer as a varint. A negative one is encoded as 64 bits in two's complement. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) + 128);
  return [...bytes, Number(rest)];
}

export function tagOf(number: number, wire: number): number {
  return number * 8 + wire;
}

const WIRE_TYPES: Readonly<Partial<Record<ScalarName, number>>> = {
  string: 2,
  bytes: 2,
  double: 1,
  fixed64: 1,
  sfixed64: 1,
  float: 5,
  fixed32: 5,
  sfixed32: 5,
};

export function wireOf(type: ProtoType): number {
  if (type.kind !== "scalar") return isMessage(type) ? 2 : 0;
  return WIRE_TYPES[type.name] ?? 0;
}

const KNOWN = {
  "google.protobuf.NullValue": "Null",
  "google.protobuf.Timestamp": "Timestamp",
  "google.protobuf.Value": "Any",
} as const;

/** Returns the end of the names of the runtime functions that read and write a type, such as "Timestamp". */
export function functionName(type: Exclude<ProtoType, Declared>): string {
  if (type.kind === "known") return KNOWN[type.name];
  if (type.name === "int64" && type.isBig !== true) return "Int";
  return type.name.charAt(0).toUpperCase() + type.name.slice(1);
}

/** Returns the initial value of the variable for a field; undefined if it has none. */
export function initialOf({ field, isInOneof }: Place, isEntry: boolean): string | undefined {
  if (field.label === "repeated" || field.label === "map") return "[]";
  const { type } = field;
  if (isInOneof || type.kind === "message" || isMessage(type) || (field.label === "optional" && !isEntry))
    return undefined;
  if (type.kind === "enum") {
    if (type.isNumbered) return "0";
    const zero = type.values.find(({ number }) => number === 0);
    return zero && quoted(zero.key);
  }
  return type.kind === "known" ? "null" : defaultOf(type);
}

function defaultOf({ name, isBig = false }: ProtoScalar): string {
  if (name === "string") return '""';
  if (name === "bool") return "false";
  if (name === "bytes") return "new Uint8Array(0)";
  return isBig ? "0n" : "0";
}

/** Returns a function that creates the condition under which a field is sent; undefined if it is always sent. */
export function isSent(field: SingleType | OneofType): ((name: string) => string) | undefined {
  const { type, absent } = field;
  if (absent !== undefined) return (name) => `${name} !== ${absent}`;
  if (field.label === "optional" || type.kind === "message" || isMessage(type)) return undefined;
  if (type.kind === "enum") return type.isNumbered ? (name) => `${name} !== 0` : undefined;
  if (type.kind === "known") return (name) => `${name} !== null`;
  if (type.name === "bytes") return (name) => `!pb.isEmpty(${name})`;
  if (type.name === "double" || type.name === "float") return (name) => `!Object.is(${name}, 0)`;
  return (name) => `${name} !== ${defaultOf(type)}`;
}
