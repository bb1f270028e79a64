import { isObject } from "@quicrpc/core/internal";
import protobuf from "protobufjs";
import { keyText, quoted } from "../print/text.js";
import { arrayOf, braced } from "../print/syntax.js";
import { defaultJsonName } from "../proto/names.js";
import { checked, literal, nonZero, type Options, partOf, rulesOf } from "./rules.js";

/** Schemas of scalar types. */
export const SCALARS: Readonly<Record<string, string>> = {
  double: "z.number()",
  float: "z.float32()",
  int32: "z.int32()",
  int64: "z.bigint()",
  uint32: "z.uint32()",
  uint64: "z.uint64()",
  sint32: "z.int32()",
  sint64: "z.bigint()",
  fixed32: "z.uint32()",
  fixed64: "z.uint64()",
  sfixed32: "z.int32()",
  sfixed64: "z.bigint()",
  bool: "z.boolean()",
  string: "z.string()",
  bytes: "z.instanceof(Uint8Array)",
};

/** Schemas of protobuf's own types that do not become messages. */
export const KNOWN: Readonly<Record<string, string>> = {
  NullValue: "z.null()",
  Timestamp: "z.date()",
  Value: "z.json()",
  Struct: "z.record(z.string(), z.json())",
  ListValue: "z.array(z.json())",
};
/** Messages that contain one scalar, by name. */
export const WRAPPERS: Readonly<Record<string, string>> = {
  DoubleValue: "double",
  FloatValue: "float",
  Int64Value: "int64",
  UInt64Value: "uint64",
  Int32Value: "int32",
  UInt32Value: "uint32",
  BoolValue: "bool",
  StringValue: "string",
  BytesValue: "bytes",
};

/** Returns the name of a type of the package `google.protobuf`; undefined for other types. */
export function knownName(type: protobuf.Type | protobuf.Enum): string | undefined {
  const [, name] = /^\.google\.protobuf\.(\w+)$/.exec(type.fullName) ?? [];
  return name !== undefined && (Object.hasOwn(KNOWN, name) || Object.hasOwn(WRAPPERS, name)) ? name : undefined;
}

/** A reference to the schema of a message or enum. */
export interface Reference {
  readonly text: string;
  /** True if the schema is declared later, so that only a getter can refer to it. */
  readonly isLate: boolean;
}

/** What field schemas need from the module that contains them. */
export interface FieldContext {
  readonly referenceTo: (type: protobuf.Type | protobuf.Enum) => Reference;
  /** Called for a rule of protovalidate that has no check in zod. */
  readonly refused: (field: protobuf.ReflectionObject, rule: string) => void;
  /** Called for a default value that the schema does not have. */
  readonly noDefault: (field: protobuf.Field) => void;
}

/** A property of an object schema, and its entry in the object's metadata. */
export interface Property {
  readonly key: string;
  readonly text: string;
  readonly mark: string;
  readonly comment: string | undefined;
}

/** A schema expression. `type` is its type if the expression refers to a schema that is declared later. */
interface Expression {
  readonly text: string;
  readonly type?: string | undefined;
}

/** Returns the name of a field in JSON, as protoc derives it. */
export function jsonName({ name, options }: protobuf.ReflectionObject): string {
  const given: unknown = options?.["json_name"];
  return typeof given === "string" ? given : defaultJsonName(name);
}

/** Returns the property for a field that is not part of a oneof. */
export function fieldProperty(field: protobuf.Field, key: string, context: FieldContext): Property {
  const rules = rulesOf(field);
  const isMessage = field.resolvedType instanceof protobuf.Type;
  const isList = field.repeated || field.map;
  const bare = valueOf(field, context);
  const known = field.resolvedType && knownName(field.resolvedType);
  const isNullValue = known === "NullValue";
  const isCollection = !isList && (known === "Struct" || known === "ListValue");
  const hasPresence = !isList && !isNullValue && (isMessage || field.hasPresence);
  const isRequired = hasPresence && !isCollection && (field.required || rules.isRequired);
  const kind = field.repeated ? "repeated" : field.map ? "map" : field.type;
  let { text, type } = bare;
  if (rules.isRequired && isCollection) context.refused(field, "required");
  else if (rules.isRequired && !hasPresence) text += nonZero(kind, text);
  if (hasPresence && !isRequired) {
    const preset = isMessage ? undefined : presetOf(field, context);
    text += preset === undefined ? ".optional()" : `.default(${preset})`;
    type = type && `z.ZodOptional<${type}>`;
  }
  if (field.getOption("deprecated") === true) text += ".meta({ deprecated: true })";
  const isUnpacked = field.repeated && !field.packed && isPackable(field);
  const word = isRequired && !isMessage ? "required" : isUnpacked ? "unpacked" : undefined;
  const mark = word === undefined ? String(field.id) : `[${field.id}, "${word}"]`;
  return {
    key,
    text: propertyText(key, { text, type }),
    mark: `${keyText(key)}: ${mark}`,
    comment: field.comment ?? undefined,
  };
}

/** Returns the property for a oneof: a union of objects with the name of the field and its value. */
export function oneofProperty(
  oneof: protobuf.OneOf,
  key: string,
  names: ReadonlyMap<protobuf.ReflectionObject, string>,
  context: FieldContext,
): Property {
  const arms = oneof.fieldsArray.flatMap((field) => {
    const name = names.get(field);
    if (name === undefined) return [];
    const value = propertyText("value", valueOf(field, context));
    return [{ name, field, text: `z.object(${braced([`case: z.literal(${quoted(name)})`, value])})` }];
  });
  const options = arms.map(({ text }) => text);
  const union = `z.discriminatedUnion("case", ${arrayOf(options, true)})`;
  const text = rulesOf(oneof).isRequired ? union : `${union}.optional()`;
  const numbers = arms.map(({ name, field }) => `${keyText(name)}: ${field.id}`);
  const mark = `${keyText(key)}: ${braced(numbers)}`;
  const notes = arms.flatMap(({ name, field }) => (field.comment === null ? [] : [`- ${name}: ${field.comment}`]));
  const comment = [...(oneof.comment === null ? [] : [oneof.comment]), ...notes].join("\n");
  return { key, text: `${keyText(key)}: ${text}`, mark, comment };
}

/** Returns a property, with a getter if the expression refers to a schema that is declared later. */
function propertyText(key: string, { text, type }: Expression): string {
  return type === undefined ? `${keyText(key)}: ${text}` : `get ${keyText(key)}(): ${type} {\n  return ${text};\n}`;
}

/** Returns the schema of a field's value, without whether it may be absent. */
function valueOf(field: protobuf.Field, context: FieldContext): Expression {
  const { own } = rulesOf(field);
  const refused = (rule: string): void => context.refused(field, rule);
  /** Returns the rules in `rules` that are of the type `kind`, and refuses the others. */
  const rulesFor = (kind: string, rules: Options): Options => {
    for (const [name, part] of Object.entries(rules)) {
      if ((name === kind && isObject(part)) || (name === "required" && (rules === own || part !== true))) continue;
      if (isObject(part) && name !== "cel") for (const each of Object.keys(part)) refused(`${name}.${each}`);
      else refused(name);
    }
    return "ignore" in rules ? {} : partOf(rules, kind);
  };
  const element = (rules: Options): Expression => {
    const { text, type, mark = "" } = singleOf(field, context);
    const kind = kindOf(field);
    return { text: checked(text, kind, rulesFor(kind, rules), refused) + mark, type };
  };
  if (field.repeated) {
    const rules = rulesFor("repeated", own);
    const { text, type } = listOf(field, element(partOf(rules, "items")), "");
    return { text: checked(text, "repeated", rules, refused), type };
  }
  if (field instanceof protobuf.MapField) {
    const { keyType } = field;
    const rules = rulesFor("map", own);
    const key = checked(SCALARS[keyType] ?? "", keyType, rulesFor(keyType, partOf(rules, "keys")), refused);
    const { text, type } = listOf(field, element(partOf(rules, "values")), key);
    return { text: checked(text, "map", rules, refused), type };
  }
  return element(own);
}

/** Returns the name of the rules for the values of a field; empty for messages. */
function kindOf({ type, resolvedType }: protobuf.Field): string {
  if (resolvedType === null) return type;
  if (resolvedType instanceof protobuf.Enum) return "enum";
  return WRAPPERS[knownName(resolvedType) ?? ""] ?? "";
}

function listOf(field: protobuf.Field, { text, type }: Expression, key: string): Expression {
  if (field.repeated) return { text: `z.array(${text})`, type: type && `z.ZodArray<${type}>` };
  if (!(field instanceof protobuf.MapField)) return { text, type };
  const { keyType } = field;
  if (keyType === "string") {
    return { text: `z.record(${key}, ${text})`, type: type && `z.ZodRecord<z.ZodString, ${type}>` };
  }
  return {
    text: `z.map(${key}${encodingOf(keyType)}, ${text})`,
    type: type && `z.ZodMap<z.ZodType<${KEY_TYPES[keyType] ?? "number"}>, ${type}>`,
  };
}

const KEY_TYPES: Readonly<Record<string, string>> = {
  bool: "boolean",
  int64: "bigint",
  sint64: "bigint",
  sfixed64: "bigint",
  uint64: "bigint",
  fixed64: "bigint",
};

function encodingOf(type: string): string {
  return /^s?fixed|^sint/.test(type) ? `.meta({ proto: "${type}" })` : "";
}

/** Returns the schema of one value of a field's type, and the metadata that follows its checks. */
function singleOf(
  { type, resolvedType }: protobuf.Field,
  context: FieldContext,
): Expression & { readonly mark?: string } {
  if (resolvedType === null) return { text: SCALARS[type] ?? "", mark: encodingOf(type) };
  const known = knownName(resolvedType);
  const scalar = known && WRAPPERS[known];
  if (scalar !== undefined) return { text: SCALARS[scalar] ?? "", mark: '.meta({ proto: "wrapper" })' };
  if (known !== undefined) return { text: KNOWN[known] ?? "" };
  const { text, isLate } = context.referenceTo(resolvedType);
  return { text, type: isLate ? `typeof ${text}` : undefined };
}

function isPackable({ type, resolvedType }: protobuf.Field): boolean {
  return resolvedType === null ? type !== "string" && type !== "bytes" : resolvedType instanceof protobuf.Enum;
}

/** Returns the default value of a field in proto2 or editions; undefined if it has none. */
function presetOf(field: protobuf.Field, context: FieldContext): string | undefined {
  const preset: unknown = field.getOption("default");
  if (preset === undefined) return undefined;
  const { resolvedType, type } = field;
  const isMember = resolvedType instanceof protobuf.Enum && typeof preset === "string";
  const value = isMember ? resolvedType.values[preset] : preset;
  const text = literal(kindOf(field) === "enum" ? "enum" : type, value);
  if (text === undefined) context.noDefault(field);
  return text;
}
