// Random messages of protobuf-es, with values that the imported schemas accept.
import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";

type Random = (below: number) => number;

/** A message of any content. The deeper it is, the fewer fields it has. */
export function randomMessage(schema: DescMessage, random: Random, depth = 0): Message {
  const message = reflect(schema, create(schema));
  if (schema.typeName === TimestampSchema.typeName) {
    // Dates have milliseconds.
    const timestamp = create(TimestampSchema, {
      seconds: BigInt(random(4e9)) - 2_000_000_000n,
      nanos: random(1000) * 1e6,
    });
    return timestamp;
  }
  if (schema.typeName === "google.protobuf.Value" && depth > 6) {
    message.set(fieldOf(schema, "string_value"), "end");
    return message.message;
  }
  for (const member of schema.members) {
    // A Value without a kind is invalid.
    const isNeeded = schema.typeName === "google.protobuf.Value";
    if (!isNeeded && random(depth < 2 ? 3 : 12) > 0) continue;
    const field = member.kind === "oneof" ? member.fields[random(member.fields.length)] : member;
    if (field !== undefined) set(message, field, random, depth);
  }
  return message.message;
}

function fieldOf(schema: DescMessage, name: string): DescField {
  return schema.fields.find((field) => field.name === name) as DescField;
}

function set(message: ReflectMessage, field: DescField, random: Random, depth: number): void {
  const one = (): unknown => {
    if (field.fieldKind === "list" && field.listKind === "message") return nested(field.message, random, depth);
    if (field.fieldKind === "map" && field.mapKind === "message") return nested(field.message, random, depth);
    if (field.fieldKind === "message") return nested(field.message, random, depth);
    if (field.enum !== undefined) return field.enum.typeName === "google.protobuf.NullValue" ? 0 : random(7) - 1;
    return scalar(field.scalar, random);
  };
  switch (field.fieldKind) {
    case "list": {
      const list = message.get(field);
      for (let n = random(4); n > 0; n--) list.add(one());
      return;
    }
    case "map": {
      const map = message.get(field);
      for (let n = random(3); n > 0; n--) map.set(scalar(field.mapKey, random), one());
      return;
    }
    default:
      message.set(field, one());
  }
}

function nested(schema: DescMessage, random: Random, depth: number): ReflectMessage {
  return reflect(schema, randomMessage(schema, random, depth + 1));
}

const TEXTS = ["", "a", "längere Texte, mit Zeichen wie € und 🙂", "7", "x".repeat(200)];

function scalar(type: ScalarType, random: Random): unknown {
  const bits = (n: number): bigint =>
    BigInt.asUintN(n, (BigInt(random(2 ** 24)) << 40n) ^ (BigInt(random(2 ** 24)) << 20n) ^ BigInt(random(2 ** 24)));
  const isSmall = random(2) === 0;
  switch (type) {
    case ScalarType.STRING:
      return TEXTS[random(TEXTS.length)];
    case ScalarType.BYTES:
      return Uint8Array.from({ length: random(5) }, () => random(256));
    case ScalarType.BOOL:
      return random(2) === 0;
    case ScalarType.DOUBLE:
      return [0, -0, 1.5, -1e300, 3][random(5)];
    case ScalarType.FLOAT:
      return [0, -0, 1.5, Math.fround(1e30), 3][random(5)];
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return isSmall ? random(5) - 2 : Number(BigInt.asIntN(32, bits(64) >> 3n));
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return isSmall ? random(3) : Number(BigInt.asUintN(32, bits(64) >> 3n));
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return isSmall ? BigInt(random(5) - 2) : BigInt.asIntN(64, bits(64));
    default:
      return isSmall ? BigInt(random(3)) : bits(64);
  }
}
