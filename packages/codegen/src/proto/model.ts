import type { LockedNumbers } from "../lock/lock.js";
import { pascalCase } from "../names.js";
import type { SchemaNode } from "../schema/node.js";

export type ScalarName =
  | "bool"
  | "bytes"
  | "double"
  | "fixed32"
  | "fixed64"
  | "float"
  | "int32"
  | "int64"
  | "sfixed32"
  | "sfixed64"
  | "sint32"
  | "sint64"
  | "string"
  | "uint32"
  | "uint64";

export type KnownName = "google.protobuf.NullValue" | "google.protobuf.Timestamp" | "google.protobuf.Value";

export interface ProtoScalar {
  readonly kind: "scalar";
  readonly name: ScalarName;
  /** True if 64-bit integers are bigints in JavaScript. */
  readonly isBig?: boolean;
  readonly values?: readonly unknown[] | undefined;
}

export type ProtoType = ProtoScalar | { readonly kind: "known"; readonly name: KnownName } | ProtoMessage | ProtoEnum;

export type FieldType =
  | SingleType
  | OneofType
  | {
      readonly label: "repeated";
      readonly type: ProtoType;
      readonly collection: "array" | "set" | "map";
      /** True for numbers that are encoded one by one. */
      readonly isUnpacked?: boolean;
    }
  | {
      readonly label: "map";
      readonly keyType: ProtoScalar;
      readonly type: ProtoType;
      readonly collection: "record" | "map";
    };

export interface SingleType {
  readonly label: "implicit" | "optional";
  readonly type: ProtoType;
  /** The value in JavaScript if the field is absent; undefined if the field cannot be absent. */
  readonly absent?: "undefined" | "null" | undefined;
}

/** A union whose fields are fields of the message that contains it. */
export interface OneofType extends Pick<SingleType, "absent"> {
  readonly label: "oneof";
  readonly type: ProtoMessage;
}

/** Returns the type of a field that is never absent. */
export function single(type: ProtoType): SingleType {
  return { label: "implicit", type };
}

/** How the fields of a message form a value of the schema. */
export type MessageForm =
  /** An object. `keys` are the keys that its schema declares; if `isStrict`, it refuses others. */
  | { readonly kind: "fields"; readonly keys: readonly string[]; readonly isStrict: boolean }
  /** A tuple: each field is an item. The last field may be the list of further items. */
  | { readonly kind: "tuple" }
  /** The value of the message's only field. */
  | { readonly kind: "value" }
  /** The value of the field that is set: an option of a union, or null or a value. */
  | { readonly kind: "choice" }
  /**
   * An option of a discriminated union. `tags` contains for each field the value of the discriminator, which the
   * message of an option omits.
   */
  | {
      readonly kind: "tagged";
      readonly key: string;
      readonly tags: ReadonlyMap<string, TaggedField>;
      /** Key of the value in each option; undefined if the value is the option itself. */
      readonly content?: string;
    }
  /** A pair of a key and a value, in the list that represents a map. */
  | { readonly kind: "pair" }
  /** An entry of a protobuf `map` field, whose key and value may be absent. */
  | { readonly kind: "entry" };

/** A field that represents one option of a discriminated union. */
export interface TaggedField {
  readonly value: unknown;
  /** True if the field's message omits the discriminator. */
  readonly isArm: boolean;
}

export type ProtoField = FieldType & {
  /** Key in the schema, for which the lock file contains the field's number. */
  readonly key: string;
  readonly name: string;
  /** Name in JSON; undefined if it is the one that protobuf derives from `name`. */
  readonly jsonName: string | undefined;
  readonly number: number;
  readonly docs: string | undefined;
  readonly deprecated: boolean;
  /** Schema of the field's value; undefined for the field that represents null. */
  readonly node: SchemaNode | undefined;
};

export interface Removed {
  readonly numbers: readonly number[];
  readonly names: readonly string[];
}

/** A protobuf message. Its fields may be added after it is created, because messages may contain themselves. */
export interface ProtoMessage {
  readonly kind: "message";
  /** Name of the message, after the names of the messages that contain it. */
  readonly path: readonly string[];
  docs: string | undefined;
  fields: readonly ProtoField[];
  form: MessageForm;
  /** Name of the oneof that contains all fields; undefined if the message is not a union. */
  oneof: string | undefined;
  numbers: LockedNumbers;
  removed: Removed;
  readonly nested: Declared[];
}

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

export interface ProtoEnum {
  readonly kind: "enum";
  readonly path: readonly string[];
  readonly docs: string | undefined;
  /** The members, except a member with number 0 that stands for no value. */
  readonly values: readonly ProtoValue[];
  /** Name of the member with number 0 that stands for no value; undefined if `values` contains number 0. */
  readonly zero: string | undefined;
  readonly numbers: LockedNumbers;
  readonly removed: Removed;
  /** True if the schema defines the numbers, so that the lock file does not contain them. */
  readonly isNumbered: boolean;
  /** Name and members in the metadata of a schema of integers, as text. */
  readonly origin?: string;
}

export interface ProtoValue {
  /** Value of the member in the schema, as text. */
  readonly key: string;
  readonly name: string;
  readonly number: number;
}

export type Declared = ProtoMessage | ProtoEnum;

export interface ProtoMethod {
  readonly name: string;
  /** Name of the method in the schema. */
  readonly key: string;
  readonly docs: string | undefined;
  readonly input: ProtoMessage;
  readonly output: ProtoMessage;
  readonly streamsInput: boolean;
  readonly streamsOutput: boolean;
  readonly idempotency: "IDEMPOTENT" | "NO_SIDE_EFFECTS" | undefined;
}

export interface ProtoService {
  /** Last part of the service's name, without the package. */
  readonly name: string;
  readonly docs: string | undefined;
  readonly methods: readonly ProtoMethod[];
}

/** A protobuf package: services whose names begin with the same package name, and the types of their messages. */
export interface ProtoPackage {
  /** Name of the package; empty for services whose names contain no dot. */
  readonly name: string;
  readonly services: readonly ProtoService[];
  readonly types: readonly Declared[];
}

/** Returns all members of an enum. The one with number 0 comes first. */
export function membersOf({ values, zero }: ProtoEnum): Pick<ProtoValue, "name" | "number">[] {
  const members = [...(zero === undefined ? [] : [{ name: zero, number: 0 }]), ...values];
  return members.sort((a, b) => Number(b.number === 0) - Number(a.number === 0));
}

/** Returns the names that a type declares in the scope that contains it. */
export function namesIn(type: Declared): string[] {
  return [type.path.at(-1) ?? "", ...(type.kind === "enum" ? membersOf(type).map(({ name }) => name) : [])];
}

/**
 * Returns true if values of a type are encoded as messages. A field of such a type may be absent without the label
 * `optional`.
 */
export function isMessage(type: ProtoType): boolean {
  return type.kind === "message" || (type.kind === "known" && type.name !== "google.protobuf.NullValue");
}

/** Returns the fields of a message that have numbers: those of a oneof instead of the oneof. */
export function numberedFields({ fields }: ProtoMessage): readonly ProtoField[] {
  return fields.flatMap((field) => (field.label === "oneof" ? field.type.fields : [field]));
}

export function addInside({ fields }: ProtoMessage, messages: Set<ProtoMessage>): void {
  for (const { type } of fields) {
    if (type.kind !== "message" || messages.has(type)) continue;
    messages.add(type);
    addInside(type, messages);
  }
}

export function pathName({ path }: Declared): string {
  return path.join(".");
}

export function fullName(packageName: string, path: readonly string[]): string {
  return [...(packageName === "" ? [] : [packageName]), ...path].join(".");
}

/** Splits the full name of a type into its package, whose parts begin with lower-case letters, and its path. */
export function packageAndPath(name: string): [packageName: string, path: string] {
  const [, packageName = "", path = name] = /^((?:[^A-Z_.][^.]*\.)*)(.*)$/.exec(name) ?? [];
  return [packageName.slice(0, -1), path];
}

/**
 * Returns the full name of the message for a method's input or output.
 * @param rpc name of the method in the .proto file
 */
export function payloadName(service: string, rpc: string, role: "Request" | "Response"): string {
  return fullName(packageNameOf(service), [`${lastPart(service)}${rpc}${role}`]);
}

/** Returns the name of a method in the .proto file, if its metadata contains none: `GetUser` for `getUser`. */
export function methodName(method: string): string {
  return pascalCase(method.replaceAll("$", "_"));
}

/** Returns the name of a method with the metadata `meta` in the .proto file. */
export function rpcName(method: string, meta: unknown): string {
  const { proto } = (meta ?? {}) as { readonly proto?: unknown };
  return typeof proto === "string" ? proto : methodName(method);
}

export function lastPart(service: string): string {
  return service.slice(service.lastIndexOf(".") + 1);
}

export function packageNameOf(service: string): string {
  return service.slice(0, Math.max(0, service.lastIndexOf(".")));
}
