import {
  type Declared,
  fullName,
  isMessage,
  membersOf,
  numberedFields,
  type ProtoEnum,
  type ProtoField,
  type ProtoMessage,
  type ProtoPackage,
  type ProtoService,
  type ProtoType,
  type Removed,
} from "./model.js";
import { defaultJsonName } from "./names.js";
import { importsOf, protoFileOf } from "./print.js";
import { tagOf, varint } from "./print-field.js";

/**
 * Returns the `google.protobuf.FileDescriptorProto` of a package's file, encoded as protoc encodes it, without
 * comments.
 */
export function fileDescriptor(model: ProtoPackage): Uint8Array {
  return Uint8Array.from(bytesOf(new Describer(model.name).file(model)));
}

/**
 * A field of a descriptor message: its number and its value. Values that are undefined, false or "" are not encoded.
 */
type Field = readonly [number: number, value: string | number | boolean | readonly Field[] | undefined];

const VARINT = 0;
const LENGTH_DELIMITED = 2;

function bytesOf(fields: readonly Field[]): number[] {
  const sorted = [...fields].sort(([a], [b]) => a - b);
  return sorted.flatMap(([number, value]) => {
    if (value === undefined || value === false || value === "") return [];
    if (typeof value === "number" || value === true)
      return [...varint(tagOf(number, VARINT)), ...varint(Number(value))];
    const bytes = typeof value === "string" ? [...new TextEncoder().encode(value)] : bytesOf(value);
    return [...varint(tagOf(number, LENGTH_DELIMITED)), ...varint(bytes.length), ...bytes];
  });
}

const SCALARS = {
  double: 1,
  float: 2,
  int64: 3,
  uint64: 4,
  int32: 5,
  bool: 8,
  string: 9,
  bytes: 12,
  uint32: 13,
  fixed64: 6,
  fixed32: 7,
  sfixed32: 15,
  sfixed64: 16,
  sint32: 17,
  sint64: 18,
} as const;
const MESSAGE = 11;
const ENUM = 14;
const OPTIONAL = 1;
const REPEATED = 3;
const IDEMPOTENCY = { NO_SIDE_EFFECTS: 1, IDEMPOTENT: 2 } as const;

/** Creates the descriptors of a package. The field numbers are those of `google/protobuf/descriptor.proto`. */
class Describer {
  readonly #package: string;

  constructor(packageName: string) {
    this.#package = packageName;
  }

  file({ name, services, types }: ProtoPackage): Field[] {
    return [
      [1, protoFileOf(name)],
      [2, name],
      ...importsOf(types).map((file): Field => [3, file]),
      ...this.#types(types, 4, 5),
      ...services.map((service): Field => [6, this.#service(service)]),
      [12, "proto3"],
    ];
  }

  #service({ name, methods }: ProtoService): Field[] {
    return [
      [1, name],
      ...methods.map((method): Field => {
        const { idempotency, streamsInput, streamsOutput } = method;
        const options: Field[] | undefined = idempotency && [[34, IDEMPOTENCY[idempotency]]];
        const types: Field[] = [
          [2, this.#nameOf(method.input.path)],
          [3, this.#nameOf(method.output.path)],
        ];
        return [2, [[1, method.name], ...types, [4, options], [5, streamsInput], [6, streamsOutput]]];
      }),
    ];
  }

  #types(types: readonly Declared[], messages: number, enums: number): Field[] {
    return types.map((type) => (type.kind === "message" ? [messages, this.#message(type)] : [enums, enumFields(type)]));
  }

  #message(message: ProtoMessage): Field[] {
    const { path, nested, oneof, removed } = message;
    const fields = numberedFields(message);
    // In a descriptor, each optional field belongs to a oneof of its own, which follows the others.
    const oneofs =
      oneof === undefined
        ? [
            ...message.fields.flatMap(({ label, type }) =>
              label === "oneof" ? [{ name: type.oneof, fields: type.fields }] : [],
            ),
            ...fields
              .filter(({ label }) => label === "optional")
              .map((field) => ({ name: `_${field.name}`, fields: [field] })),
          ]
        : [{ name: oneof, fields }];
    return [
      [1, path.at(-1)],
      ...this.#types(nested, 3, 4),
      ...fields.flatMap((field) => {
        const index = oneofs.findIndex((each) => each.fields.includes(field));
        return this.#field(field, path, index);
      }),
      ...oneofs.map(({ name }): Field => [8, [[1, name]]]),
      ...reserved(removed, 9, 10, 1),
    ];
  }

  /** Returns the descriptor of a field and, for a map, the message of its entries. */
  #field(field: ProtoField, path: readonly string[], oneof: number): Field[] {
    const { name, number, label, jsonName = defaultJsonName(name) } = field;
    const entry = `${name.replaceAll(/(?:^|_+)([^_]?)/g, (_, letter: string) => letter.toUpperCase())}Entry`;
    const type: Field[] =
      label === "map"
        ? [
            [5, MESSAGE],
            [6, this.#nameOf([...path, entry])],
          ]
        : this.#type(field.type);
    const described: Field = [
      2,
      [
        ...([
          [1, name],
          [3, number],
          [4, label === "map" || label === "repeated" ? REPEATED : OPTIONAL],
        ] as const),
        ...type,
        [8, fieldOptions(field)],
        [9, oneof < 0 ? undefined : oneof],
        [10, jsonName],
        [17, label === "optional"],
      ],
    ];
    if (label !== "map") return [described];
    const part = (key: string, at: number, type: ProtoType): Field => [
      2,
      [[1, key], [3, at], [4, OPTIONAL], ...this.#type(type), [10, key]],
    ];
    const parts = [part("key", 1, field.keyType), part("value", 2, field.type)];
    return [described, [3, [[1, entry], ...parts, [7, [[7, true]]]]]];
  }

  #type(type: ProtoType): Field[] {
    if (type.kind === "scalar") return [[5, SCALARS[type.name]]];
    const name = type.kind === "known" ? `.${type.name}` : this.#nameOf(type.path);
    return [
      [5, type.kind === "message" || isMessage(type) ? MESSAGE : ENUM],
      [6, name],
    ];
  }

  #nameOf(path: readonly string[]): string {
    return `.${fullName(this.#package, path)}`;
  }
}

function fieldOptions(field: ProtoField): Field[] | undefined {
  // `packed = false` is encoded as it is, although it is false.
  const packed: Field[] = field.label === "repeated" && field.isUnpacked === true ? [[2, 0]] : [];
  const deprecated: Field[] = field.deprecated ? [[3, true]] : [];
  return packed.length + deprecated.length === 0 ? undefined : [...packed, ...deprecated];
}

function enumFields(type: ProtoEnum): Field[] {
  return [
    [1, type.path.at(-1)],
    ...membersOf(type).map(
      ({ name, number }): Field => [
        2,
        [
          [1, name],
          [2, number],
        ],
      ],
    ),
    ...reserved(type.removed, 4, 5, 0),
  ];
}

/**
 * Returns the descriptor fields for reserved numbers and names.
 * @param past difference between the end of a range in the descriptor and its last number
 */
function reserved({ numbers, names }: Removed, ranges: number, texts: number, past: number): Field[] {
  return [
    ...numbers.map(
      (number): Field => [
        ranges,
        [
          [1, number],
          [2, number + past],
        ],
      ],
    ),
    ...names.map((name): Field => [texts, name]),
  ];
}
