import type { LockedNumbers } from "../lock/lock.js";
import { pascalCase } from "../names.js";
import type { SchemaNode } from "../schema/node.js";

/** Scalar types of protobuf that schemas have. */
export type ScalarName = "bool" | "bytes" | "double" | "float" | "int32" | "int64" | "string" | "uint32" | "uint64";

/** Types of protobuf's library that schemas have. */
export type KnownName = "google.protobuf.NullValue" | "google.protobuf.Timestamp" | "google.protobuf.Value";

/** A scalar type, and what the schema says of its values. */
export interface ProtoScalar {
  readonly kind: "scalar";
  readonly name: ScalarName;
  /** Whether values of 64 bits are bigints. */
  readonly isBig?: boolean;
  /** The values of a literal. */
  readonly values?: readonly unknown[] | undefined;
}

/** The type of a single value. */
export type ProtoType = ProtoScalar | { readonly kind: "known"; readonly name: KnownName } | ProtoMessage | ProtoEnum;

/** The type of a field, with its label. */
export type FieldType =
  | SingleType
  | { readonly label: "repeated"; readonly type: ProtoType; readonly collection: "array" | "set" | "map" }
  | {
      readonly label: "map";
      readonly keyType: ProtoScalar;
      readonly type: ProtoType;
      readonly collection: "record" | "map";
    };

/** The type of a field with one value. */
export interface SingleType {
  readonly label: "implicit" | "optional";
  readonly type: ProtoType;
  /** The value that an absent field stands for; undefined if there is none. */
  readonly absent?: "undefined" | "null" | undefined;
}

/** Returns the type of a field that is never absent. */
export function single(type: ProtoType): SingleType {
  return { label: "implicit", type };
}

/** What a message stands for in the schema. */
export type MessageForm =
  /** An object with its fields: `keys` are those that its schema declares, and it refuses others if it `isStrict`. */
  | { readonly kind: "fields"; readonly keys: readonly string[]; readonly isStrict: boolean }
  /** A tuple; the last field may be the rest. */
  | { readonly kind: "tuple" }
  /** The value of its only field. */
  | { readonly kind: "value" }
  /** One option of a union, or null and a value. */
  | { readonly kind: "choice" }
  /** One option of a discriminated union: by field, the value of its discriminator, which an arm's message omits. */
  | { readonly kind: "tagged"; readonly key: string; readonly tags: ReadonlyMap<string, TaggedField> }
  /** A key and a value of a map, in a list. */
  | { readonly kind: "pair" }
  /** An entry of a field with the label "map": its key and its value may be absent. */
  | { readonly kind: "entry" };

/** A field of a discriminated union. */
export interface TaggedField {
  readonly value: unknown;
  /** Whether its message omits the discriminator. */
  readonly isArm: boolean;
}

/** A field of a message. */
export type ProtoField = FieldType & {
  /** The key in the schema, by which the lock file has its number. */
  readonly key: string;
  readonly name: string;
  /** Its name in JSON, if protobuf would derive another one from `name`. */
  readonly jsonName: string | undefined;
  readonly number: number;
  readonly docs: string | undefined;
  readonly deprecated: boolean;
  /** The schema of its value; undefined for the null of a nullish value. */
  readonly node: SchemaNode | undefined;
};

/** Numbers and names that a message or enum no longer uses. */
export interface Removed {
  readonly numbers: readonly number[];
  readonly names: readonly string[];
}

/** A message. Its fields are complete once the visit has ended, because messages may contain themselves. */
export interface ProtoMessage {
  readonly kind: "message";
  /** Its name, after those of the messages around it. */
  readonly path: readonly string[];
  docs: string | undefined;
  fields: readonly ProtoField[];
  form: MessageForm;
  /** Name of the oneof to which all fields belong, if it is a union. */
  oneof: string | undefined;
  /** The numbers of its fields, for the lock file. */
  numbers: LockedNumbers;
  removed: Removed;
  readonly nested: Declared[];
}

/** Returns a message without fields. */
export function newMessage(path: readonly string[]): ProtoMessage {
  return {
    kind: "message",
    path,
    docs: undefined,
    fields: [],
    form: { kind: "fields", keys: [], isStrict: false },
    oneof: undefined,
    numbers: { kind: "fields", numbers: new Map(), removed: new Map() },
    removed: { numbers: [], names: [] },
    nested: [],
  };
}

/** An enum. */
export interface ProtoEnum {
  readonly kind: "enum";
  readonly path: readonly string[];
  readonly docs: string | undefined;
  /** The members, without the one of number 0 that stands for no value. */
  readonly values: readonly ProtoValue[];
  /** Name of the member of number 0; undefined if `values` has one. */
  readonly zero: string | undefined;
  /** The numbers of its members, for the lock file. */
  readonly numbers: LockedNumbers;
  readonly removed: Removed;
  /** Whether the schema has the numbers, so that the lock file does not assign them. */
  readonly isNumbered: boolean;
}

/** A member of an enum. */
export interface ProtoValue {
  /** The value in the schema, as text. */
  readonly key: string;
  readonly name: string;
  readonly number: number;
}

/** A type with a declaration. */
export type Declared = ProtoMessage | ProtoEnum;

/** A method of a service. */
export interface ProtoMethod {
  readonly name: string;
  /** Its name in the schema. */
  readonly key: string;
  readonly docs: string | undefined;
  readonly input: ProtoMessage;
  readonly output: ProtoMessage;
  readonly streamsInput: boolean;
  readonly streamsOutput: boolean;
  readonly idempotency: "IDEMPOTENT" | "NO_SIDE_EFFECTS" | undefined;
}

/** A service. */
export interface ProtoService {
  /** Last part of its name. */
  readonly name: string;
  readonly docs: string | undefined;
  readonly methods: readonly ProtoMethod[];
}

/** The services with the same first part of the name, with the types of their messages. */
export interface ProtoPackage {
  /** Empty for services whose names have no dot. */
  readonly name: string;
  readonly services: readonly ProtoService[];
  readonly types: readonly Declared[];
}

/** Returns all members of an enum, the one of number 0 first. */
export function membersOf({ values, zero }: ProtoEnum): Pick<ProtoValue, "name" | "number">[] {
  const members = [...(zero === undefined ? [] : [{ name: zero, number: 0 }]), ...values];
  return members.sort((a, b) => Number(b.number === 0) - Number(a.number === 0));
}

/** Returns the names that a type declares in the scope around it. */
export function namesIn(type: Declared): string[] {
  return [type.path.at(-1) ?? "", ...(type.kind === "enum" ? membersOf(type).map(({ name }) => name) : [])];
}

/** Returns true for values that are messages on the wire: their fields may be absent without a label. */
export function isMessage(type: ProtoType): boolean {
  return type.kind === "message" || (type.kind === "known" && type.name !== "google.protobuf.NullValue");
}

/** Adds to `messages` the messages inside `message`. */
export function addInside({ fields }: ProtoMessage, messages: Set<ProtoMessage>): void {
  for (const { type } of fields) {
    if (type.kind !== "message" || messages.has(type)) continue;
    messages.add(type);
    addInside(type, messages);
  }
}

/** Returns a type's name in its package. */
export function pathName({ path }: Declared): string {
  return path.join(".");
}

/** Returns a type's name with its package. */
export function fullName(packageName: string, path: readonly string[]): string {
  return [...(packageName === "" ? [] : [packageName]), ...path].join(".");
}

/** Splits a type's full name into its package, whose parts begin with small letters, and its path. */
export function packageAndPath(name: string): [packageName: string, path: string] {
  const [, packageName = "", path = name] = /^((?:[^A-Z_.][^.]*\.)*)(.*)$/.exec(name) ?? [];
  return [packageName.slice(0, -1), path];
}

/** Returns the full name of the message of a method's payload. */
export function payloadName(service: string, method: string, role: "Request" | "Response"): string {
  return fullName(packageNameOf(service), [`${lastPart(service)}${methodName(method)}${role}`]);
}

/** Returns the name of a method in protobuf: that of `getUser` is `GetUser`. */
export function methodName(method: string): string {
  return pascalCase(method.replaceAll("$", "_"));
}

/** Returns the name of a service in its package. */
export function lastPart(service: string): string {
  return service.slice(service.lastIndexOf(".") + 1);
}

/** Returns the package of a service. */
export function packageNameOf(service: string): string {
  return service.slice(0, Math.max(0, service.lastIndexOf(".")));
}
