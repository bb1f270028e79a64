import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { MethodDetails } from "@quicrpc/services";

type JsonSchema = NonNullable<MethodDetails["input"]>;

/** Returns the JSON Schema of a message in canonical proto JSON, with the messages that it contains in `$defs`. */
export function schemaOf(message: DescMessage): JsonSchema {
  const known = KNOWN.get(message.typeName);
  if (known !== undefined) return known;
  const messages: Messages = new Map([[message.typeName, message]]);
  const $defs: [string, JsonSchema][] = [];
  // Messages that fields contain are added meanwhile.
  for (const [name, { fields }] of messages) {
    const properties = Object.fromEntries(fields.map((field) => [field.jsonName, fieldSchema(field, messages)]));
    $defs.push([name, { type: "object", properties }]);
  }
  return { $ref: `#/$defs/${message.typeName}`, $defs: Object.fromEntries($defs) };
}

const BASE64: JsonSchema = { type: "string", contentEncoding: "base64" };

/** JSON Schemas of the messages for which proto JSON has forms of their own. */
const KNOWN: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>(
  Object.entries({
    "google.protobuf.Any": { type: "object", properties: { "@type": { type: "string" } }, additionalProperties: {} },
    "google.protobuf.BoolValue": { type: "boolean" },
    "google.protobuf.BytesValue": BASE64,
    "google.protobuf.DoubleValue": { type: "number" },
    "google.protobuf.Duration": { type: "string" },
    "google.protobuf.FieldMask": { type: "string" },
    "google.protobuf.FloatValue": { type: "number" },
    "google.protobuf.Int32Value": { type: "integer" },
    "google.protobuf.Int64Value": { type: "string" },
    "google.protobuf.ListValue": { type: "array", items: {} },
    "google.protobuf.StringValue": { type: "string" },
    "google.protobuf.Struct": { type: "object", additionalProperties: {} },
    "google.protobuf.Timestamp": { type: "string" },
    "google.protobuf.UInt32Value": { type: "integer" },
    "google.protobuf.UInt64Value": { type: "string" },
    "google.protobuf.Value": {},
  }),
);

type Messages = Map<string, DescMessage>;

function messageSchema(message: DescMessage, messages: Messages): JsonSchema {
  const known = KNOWN.get(message.typeName);
  if (known !== undefined) return known;
  messages.set(message.typeName, message);
  return { $ref: `#/$defs/${message.typeName}` };
}

function fieldSchema(field: DescField, messages: Messages): JsonSchema {
  const value =
    field.message !== undefined
      ? messageSchema(field.message, messages)
      : field.enum !== undefined
        ? enumSchema(field.enum)
        : scalarSchema(field.scalar);
  const notes = [
    ...(field.message !== undefined && KNOWN.has(field.message.typeName) ? [field.message.typeName] : []),
    ...(field.scalar === undefined || isPlain(field.scalar) ? [] : [ScalarType[field.scalar].toLowerCase()]),
    ...(field.oneof === undefined ? [] : [`one of ${field.oneof.name}`]),
  ];
  const schema =
    field.fieldKind === "list"
      ? { type: "array", items: value }
      : field.fieldKind === "map"
        ? { type: "object", additionalProperties: value }
        : value;
  return notes.length === 0 ? schema : { ...schema, description: notes.join(", ") };
}

/** Returns true if the JSON Schema of a type has its name. */
function isPlain(scalar: ScalarType): boolean {
  return scalar === ScalarType.BOOL || scalar === ScalarType.STRING;
}

function enumSchema({ typeName, values }: DescEnum): JsonSchema {
  return typeName === "google.protobuf.NullValue" ? { type: "null" } : { enum: values.map(({ name }) => name) };
}

function scalarSchema(scalar: ScalarType): JsonSchema {
  switch (scalar) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { type: "number" };
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.SINT32:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return { type: "integer" };
    case ScalarType.BYTES:
      return BASE64;
    default:
      // Proto JSON writes integers of 64 bits as strings.
      return { type: "string" };
  }
}
