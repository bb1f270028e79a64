import type { LockedNumbers } from "../lock/lock.js";
import type { SchemaNode } from "../schema/node.js";
import { type FieldSource, fieldsOfObject } from "./fields.js";
import { type FieldType, newMessage, type ProtoField, type ProtoMessage, type TaggedField } from "./model.js";
import { defaultJsonName, distinctNames, snakeCase, typeName } from "./names.js";
import { keysByNumber, MAX_NUMBER, type NumberRange, numbersFor, removedOf } from "./numbers.js";
import { absentOf, at, NameClashError, UnmappableError, type Value, valueOf } from "./value.js";

/** A field before its name and number are assigned. */
export interface Entry {
  readonly key: string;
  readonly field: FieldType;
  readonly node?: SchemaNode | undefined;
  readonly docs?: string | undefined;
  /** Fields of a oneof, whose numbers and names are in the message that contains it. */
  readonly arms?: readonly Entry[];
}

/** Options of `finishMessage`. */
export interface FinishOptions {
  /** Returns the name of a field. Default: its key in snake case. */
  readonly nameOf?: (key: string) => string;
  /** Numbers of fields in the schema's metadata. */
  readonly given?: ReadonlyMap<string, number>;
  /** Numbers that new fields must not get. */
  readonly reserved?: readonly NumberRange[];
}

/** Adds fields to a message, with their numbers and names. */
export function finishMessage(
  message: ProtoMessage,
  entries: readonly Entry[],
  locked: LockedNumbers | undefined,
  { nameOf = (key) => snakeCase(key), given, reserved }: FinishOptions,
): void {
  const keys = entries.flatMap(({ key, arms }) => arms?.map((arm) => arm.key) ?? [key]);
  const assigned = numbersFor(keys, "fields", locked, given, reserved);
  checkNumbers(entries, keys, assigned);
  const names = distinctNames(keysByNumber(assigned), nameOf, defaultJsonName);
  message.numbers = assigned;
  message.removed = removedOf(assigned, names);
  const taken = new Set(names.values());
  // The names of oneofs and of the fields of the message must differ.
  const freeOneof = (wanted = ""): string => {
    let name = wanted;
    while (taken.has(name)) name += "_choice";
    taken.add(name);
    return name;
  };
  const fieldOf = ({ key, field, node, docs, arms = [] }: Entry): ProtoField => {
    if (field.label === "oneof") {
      field.type.fields = arms.map(fieldOf);
      field.type.oneof = freeOneof(field.type.oneof);
    }
    const name = names.get(key) ?? snakeCase(key);
    const jsonName = message.oneof === undefined && defaultJsonName(name) !== key ? key : undefined;
    const deprecated = node?.meta.deprecated === true;
    return {
      ...field,
      key,
      name,
      jsonName,
      number: assigned.numbers.get(arms[0]?.key ?? key) ?? 0,
      docs,
      deprecated,
      node,
    };
  };
  message.fields = entries.map(fieldOf);
  if (message.oneof !== undefined) message.oneof = freeOneof(message.oneof);
}

/** Throws unless keys and numbers of fields are distinct, and the numbers are valid. */
function checkNumbers(entries: readonly Entry[], keys: readonly string[], { numbers }: LockedNumbers): void {
  const fail = (key: string, message: string, help: string): never => {
    const entry = entries.find((each) => each.key === key || each.arms?.some((arm) => arm.key === key));
    throw new NameClashError(entry?.node, message, help);
  };
  const seen = new Set<string>();
  const users = new Map<number, string>();
  for (const key of keys) {
    if (seen.has(key)) {
      fail(key, `${key} is the key of two fields, or of a field and an option`, "Rename one of them.");
    }
    seen.add(key);
    const number = numbers.get(key) ?? 0;
    const other = users.get(number);
    if (other !== undefined) {
      const help = `Write the numbers of both in .meta({ proto }). The lock file may contain that of one of them.`;
      fail(key, `${other} and ${key} have the same number, ${number}`, help);
    }
    users.set(number, key);
    if (number > MAX_NUMBER) {
      const help = `Write a number up to ${MAX_NUMBER} in .meta({ proto }).`;
      fail(key, `There is no number left for ${key}`, help);
    }
  }
}

/**
 * Returns a union as a oneof of the message `owner`. Its options are objects with a discriminator and a value.
 * @param arm returns the field for the value of an option
 */
export function oneofEntry(
  key: string,
  value: Value,
  owner: ProtoMessage,
  arm: (value: FieldSource, name: string) => Entry,
): Entry {
  const { node } = value;
  if (value.isOptional && value.isNullable) {
    throw new UnmappableError(node, "a oneof that may be null or undefined", "Use only one of the two.");
  }
  const reason = "a oneof of other options than objects with a discriminator and a value";
  const refuse = (): never => {
    throw new UnmappableError(node, reason, "Write z.object({ case: z.literal(…), value: … }) for each option.");
  };
  if (node.kind !== "discriminated") return refuse();
  const tags = new Map<string, TaggedField>();
  const contents = new Set<string>();
  const arms = node.options.map(([tagged, option]): Entry => {
    const name = String(tagged);
    const [content, ...others] = fieldsOfObject(valueOf(option).node).filter((field) => field.key !== node.key);
    if (content === undefined || others.length > 0) return refuse();
    contents.add(content.key);
    tags.set(name, { value: tagged, isArm: false });
    return at(name, () => arm(content, name));
  });
  const [content, ...others] = contents;
  if (content === undefined || others.length > 0) return refuse();
  const group = newMessage([...owner.path, typeName(key)]);
  group.oneof = snakeCase(key);
  group.form = { kind: "tagged", key: node.key, tags, content };
  return { key, field: { label: "oneof", type: group, absent: absentOf(value) }, arms };
}
