import { create, createFileRegistry, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type FieldDescriptorProto,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProtoSchema,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";

type FieldSpec = readonly [name: string, type: Type, repeatedOrType?: string | true];

/** The same messages as protobuf definitions. */
const MESSAGES: Readonly<Record<string, readonly FieldSpec[]>> = {
  Pair: [
    ["a", Type.SINT32],
    ["b", Type.SINT32],
  ],
  Address: [
    ["street", Type.STRING],
    ["city", Type.STRING],
    ["zip", Type.STRING],
    ["country", Type.STRING],
  ],
  User: [
    ["id", Type.INT32],
    ["name", Type.STRING],
    ["email", Type.STRING],
    ["age", Type.INT32],
    ["active", Type.BOOL],
    ["role", Type.STRING],
    ["tags", Type.STRING, true],
    ["address", Type.MESSAGE, "Address"],
    ["createdAt", Type.DOUBLE],
  ],
  Point: [
    ["x", Type.DOUBLE],
    ["y", Type.DOUBLE],
    ["label", Type.STRING],
  ],
  Points: [["points", Type.MESSAGE, "Point"]],
  Range: [
    ["from", Type.DOUBLE],
    ["to", Type.DOUBLE],
    ["label", Type.STRING],
  ],
  Ranges: [["ranges", Type.MESSAGE, "Range"]],
  Text: [
    ["title", Type.STRING],
    ["body", Type.STRING],
  ],
};

function field([name, type, more]: FieldSpec, index: number): FieldDescriptorProto {
  return create(FieldDescriptorProtoSchema, {
    name,
    jsonName: name,
    number: index + 1,
    type,
    label: more === true || more === "Point" || more === "Range" ? Label.REPEATED : Label.OPTIONAL,
    ...(typeof more === "string" ? { typeName: `.bench.${more}` } : {}),
  });
}

const registry = createFileRegistry(
  create(FileDescriptorProtoSchema, {
    name: "bench.proto",
    package: "bench",
    syntax: "proto3",
    messageType: Object.entries(MESSAGES).map(([name, fields]) => ({ name, field: fields.map(field) })),
  }),
  () => undefined,
);

/** Encodes and decodes a message of `values.ts` with @bufbuild/protobuf; undefined for one that protobuf has no definition of. */
export function protobufOf(name: string):
  | {
      make(value: object): object;
      encode(message: object): Uint8Array;
      decode(bytes: Uint8Array): unknown;
    }
  | undefined {
  const desc: DescMessage | undefined = registry.getMessage(`bench.${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  if (desc === undefined) return undefined;
  return {
    make: (value) => create(desc, value as never),
    encode: (message) => toBinary(desc, message as never),
    decode: (bytes) => fromBinary(desc, bytes),
  };
}
