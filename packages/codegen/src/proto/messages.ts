import { canonicalNode, keyOf, type NodeOf, type SchemaNode } from "../schema/node.js";
import type { TypeTable } from "../types/declare.js";
import type { AnySchema } from "../types/zod.js";
import {
  type FieldType,
  isMessage,
  newMessage,
  type ProtoEnum,
  type ProtoMessage,
  type ProtoType,
  single,
  type TaggedField,
} from "./model.js";
import type { Declarations } from "./declared.js";
import { type Entry, finishMessage, type FinishOptions, oneofEntry } from "./entries.js";
import { enumType, openEnum } from "./enums.js";
import { discriminatorText, type FieldSource, fieldsOfObject, isObject, isStrict } from "./fields.js";
import { elementName, freeName, snakeCase, typeName } from "./names.js";
import { commonScalar, commonType, isTexts, MAP_KEYS, numericMembers, scalar, simpleType } from "./scalars.js";
import { type EnumMark, fieldMarks, isEnumMark, markedType, numbersIn, reservedRanges } from "./marks.js";
import { absentOf, at, UnmappableError, type Value, valueOf } from "./value.js";

const COLLECTIONS: ReadonlySet<string> = new Set("array set record map".split(" "));

/** A message that wraps a value of the schema `node`, while its fields are being created. */
interface Wrapper {
  readonly node: SchemaNode;
  readonly kind: "Item" | "List" | "OrNull" | "Pair";
  /** Content of `proto` in the metadata of the value. */
  readonly mark: unknown;
  readonly message: ProtoMessage;
}

/** Words for the names of nested types that a field needs: for its value, and for the elements of its list. */
interface Words {
  readonly own: string;
  readonly element: string;
}
const VALUE: Words = { own: "Value", element: "Value" };

/** Creates the protobuf messages and enums of a package from schemas. */
export class PackageMessages {
  readonly #declared: Declarations;
  /** Unnamed messages whose fields are being created, by schema. */
  readonly #open = new Map<AnySchema, ProtoMessage>();
  readonly #wrappers: Wrapper[] = [];
  /** Names and comments of the generated file whose messages are being created. */
  #types!: TypeTable;

  /** @param declared types of the package; created messages and enums are added */
  constructor(declared: Declarations) {
    this.#declared = declared;
  }

  /** Returns the result of `make`. If it throws, removes the types that it has declared. */
  attempt<Result>(make: () => Result): Result {
    try {
      return this.#declared.attempt(make);
    } catch (error) {
      this.#open.clear();
      this.#wrappers.length = 0;
      throw error;
    }
  }

  /**
   * Declares the message for a method's input or output. It has the fields of an object schema, or a field `value` for
   * any other schema.
   *
   * @param node undefined if the method has no such message
   */
  payload(name: string, node: SchemaNode | "bytes" | undefined, types: TypeTable): ProtoMessage {
    this.#types = types;
    const message = this.#declared.add(newMessage([name]), undefined, node === "bytes" ? undefined : node);
    const value = node === undefined || node === "bytes" ? undefined : valueOf(node);
    if (value === undefined || value.node.kind === "undefined") {
      message.form = { kind: "value" };
      this.#finish(message, node === "bytes" ? [{ key: "value", field: single(scalar("bytes")) }] : []);
      return message;
    }
    message.docs = types.namedNode(value.node)?.docs;
    if (isObject(value.node) && !value.isOptional && !value.isNullable) {
      this.#fill(message, value);
      return message;
    }
    message.form = { kind: "value" };
    this.#finish(message, [{ key: "value", field: this.#field(value, message, VALUE), node: value.node }]);
    return message;
  }

  #field(value: Value, owner: ProtoMessage, words: Words): FieldType {
    const bare = { ...value, isOptional: false, isNullable: false };
    const absent = absentOf(value);
    if (value.isOptional && value.isNullable) {
      const type = this.#wrapper(value, owner, words.own, "OrNull", (message) => {
        message.oneof = "kind";
        return [
          { key: "null_value", field: single({ kind: "known", name: "google.protobuf.NullValue" }) },
          { key: "value", field: single(this.#element(bare, message, VALUE.own)), node: value.node },
        ];
      });
      return { ...single(type), absent };
    }
    const mayBeAbsent = value.isOptional || value.isNullable;
    if (COLLECTIONS.has(value.node.kind)) {
      if (!mayBeAbsent) return this.#collection(value.node, owner, words);
      const type = this.#wrapper(value, owner, words.own, "List", (message) => [
        { key: "values", field: this.#field(bare, message, { ...VALUE, element: words.element }), node: value.node },
      ]);
      return { ...single(type), absent };
    }
    const type = this.#single(value, owner, words.own);
    return { label: mayBeAbsent && !isMessage(type) ? "optional" : "implicit", type, absent };
  }

  #collection(node: SchemaNode, owner: ProtoMessage, { own, element }: Words): FieldType {
    if (node.kind === "array" || node.kind === "set") {
      return { label: "repeated", type: this.#element(valueOf(node.element), owner, element), collection: node.kind };
    }
    if (node.kind !== "record" && node.kind !== "map") throw new Error(`A ${node.kind} is not a collection.`);
    if (node.kind === "record" && node.loose === true) {
      throw new UnmappableError(node, "a loose record", "Use z.record or z.object.");
    }
    const keys = valueOf(node.kind === "record" ? keyOf(node) : node.key);
    const key = node.kind === "record" || isTexts(keys) ? scalar("string") : commonType(keys.options ?? [keys]);
    const isKey = !keys.isNullable && !keys.isOptional && key?.kind === "scalar" && MAP_KEYS.has(key.name);
    const elements = valueOf(node.element);
    const type = (): ProtoType => this.#element(elements, owner, `${own}Value`);
    if (isKey) return { label: "map", keyType: key, type: type(), collection: node.kind };
    const pair = this.#wrapper(keys, owner, own, "Pair", (message) => [
      { key: "key", field: this.#field(keys, message, { own: "Key", element: "Key" }), node: keys.node },
      { key: "value", field: this.#field(elements, message, VALUE), node: elements.node },
    ]);
    return { label: "repeated", type: pair, collection: "map" };
  }

  /**
   * Returns the type of a value in a list, map or oneof. If the value may be absent or is a collection, a message wraps
   * it.
   */
  #element(value: Value, owner: ProtoMessage, word: string): ProtoType {
    const isBare = !value.isOptional && !value.isNullable && !COLLECTIONS.has(value.node.kind);
    return isBare ? this.#single(value, owner, word) : this.#item(value, owner, word);
  }

  #item(value: Value, owner: ProtoMessage, word: string): ProtoMessage {
    return this.#wrapper(value, owner, word, "Item", (message) => [
      { key: "value", field: this.#field(value, message, VALUE), node: value.node },
    ]);
  }

  /**
   * Returns a message that wraps a value.
   *
   * @param word first part of the message's name
   * @param kind last part of the message's name, which states how it wraps the value
   */
  #wrapper(
    { node, mark }: Value,
    owner: ProtoMessage,
    word: string,
    kind: Wrapper["kind"],
    entries: (message: ProtoMessage) => readonly Entry[],
  ): ProtoMessage {
    // A recursive list contains the wrapper that is being created.
    const open = this.#wrappers.find((each) => each.node === node && each.kind === kind && each.mark === mark);
    if (open !== undefined) return open.message;
    const message = this.#declared.add(newMessage([...owner.path, word + kind]), owner, node);
    message.form = { kind: kind === "Pair" ? "pair" : kind === "OrNull" ? "choice" : "value" };
    this.#wrappers.push({ node, kind, mark, message });
    this.#finish(message, entries(message));
    this.#wrappers.pop();
    return message;
  }

  #single(value: Value, owner: ProtoMessage, word: string): ProtoType {
    const { node, values, options, mark } = value;
    if (mark === "wrapper") {
      return this.#item({ ...value, isOptional: false, isNullable: false, mark: undefined }, owner, word);
    }
    if (isEnumMark(mark)) return this.#openEnum(node, mark, owner);
    if (options !== undefined) return this.#choice(value, options, owner, word);
    const numbers = values && numericMembers(node, values);
    if (
      values !== undefined &&
      (numbers !== undefined || (isTexts(value) && (node.type === "enum" || values.length > 1)))
    ) {
      return this.#enum(node, values.map(String), numbers, owner, word);
    }
    const simple = simpleType(value);
    if (simple !== undefined) return simple;
    if (values !== undefined) {
      const each = values.map((one): Value => ({ ...value, values: [one], isOptional: false, isNullable: false }));
      return this.#choice(value, each, owner, word);
    }
    switch (node.kind) {
      case "object":
      case "intersection":
        return this.#message(node, owner, word, (message) => this.#fill(message, value), mark !== undefined);
      case "discriminated":
        return this.#message(node, owner, word, (message) => this.#arms(message, node));
      case "tuple":
        return this.#message(node, owner, word, (message) => this.#tuple(message, node));
      default:
        throw new UnmappableError(node, `z.${node.type}()`, "Leave the field out, or write the type that is sent.");
    }
  }

  /**
   * Returns the message for a schema. A schema with a name has one message for all its uses.
   * @param isMarked true if the metadata contains the numbers of fields: the message gets another name if its own is taken
   */
  #message(
    node: SchemaNode,
    owner: ProtoMessage,
    word: string,
    fill: (message: ProtoMessage) => void,
    isMarked = false,
  ): ProtoMessage {
    const { schema } = canonicalNode(node);
    const known = this.#declared.named.get(schema) ?? this.#open.get(schema);
    if (known?.kind === "message") return known;
    const named = this.#nameOf(node);
    const scope = named === undefined ? owner : undefined;
    const wanted = named ?? word;
    const name = isMarked ? freeName(wanted, this.#declared.namesIn(scope)) : wanted;
    const message = this.#declared.add(newMessage([...(scope?.path ?? []), name]), scope, node);
    message.docs = this.#types.namedNode(node)?.docs;
    (named === undefined ? this.#open : this.#declared.named).set(schema, message);
    fill(message);
    this.#open.delete(schema);
    return message;
  }

  #nameOf(node: SchemaNode): string | undefined {
    const named = this.#types.namedNode(node);
    if (named?.isGiven !== true) return undefined;
    return this.#declared.nameFor(typeName(named.name));
  }

  /**
   * Adds the fields of an object schema to a message.
   * @param without key of a field to omit: the discriminator of a union
   */
  #fill(message: ProtoMessage, { node, mark, reserved }: Value, without?: string): void {
    const declared = fieldsOfObject(node);
    const marks = fieldMarks(node, mark);
    message.form = { kind: "fields", keys: declared.map(({ key }) => key), isStrict: isStrict(node) };
    const fields = declared.filter(({ key }) => key !== without);
    const keys = fields.map(({ key }) => key);
    const entries = fields.flatMap(({ key, object, field: node }): Entry[] =>
      at(key, () => {
        const value = valueOf(node);
        if (value.node.kind === "undefined") return [];
        const docs = this.#types.docsOfField(object, key, node);
        if (marks.get(key)?.arms !== undefined) {
          const arm = (each: FieldSource, name: string): Entry => ({
            key: name,
            field: single(this.#element(valueOf(each.field), message, typeName(name))),
            node: each.field,
            docs: this.#types.docsOfField(each.object, each.key, each.field),
          });
          return [{ ...oneofEntry(key, value, message, arm), node, docs }];
        }
        const plain = this.#field(value, message, { own: typeName(key), element: elementName(key, keys) });
        return [{ key, field: markedType(plain, marks.get(key)), node, docs }];
      }),
    );
    const names = entries.flatMap(({ arms = [] }) => arms.map((arm) => arm.key));
    const given = numbersIn(node, marks, new Set([...message.form.keys, ...names]));
    this.#finish(message, entries, { given, reserved: reservedRanges(node, reserved) });
  }

  /** Adds the fields of a discriminated union to a message: one for each value of the discriminator. */
  #arms(message: ProtoMessage, { key: tag, options }: NodeOf<"discriminated">): void {
    message.oneof = snakeCase(tag);
    const tags = new Map<string, TaggedField>();
    message.form = { kind: "tagged", key: tag, tags };
    const entries = options.map(([tagged, option]): Entry => {
      const key = String(tagged);
      return at(key, () => {
        const value = valueOf(option);
        const { docs } = this.#types.namedNode(option) ?? {};
        const word = typeName(snakeCase(key, tag));
        const isArm = isObject(value.node);
        tags.set(key, { value: tagged, isArm });
        if (!isArm) return { key, field: single(this.#element(value, message, word)), node: option, docs };
        const arm = this.#declared.add(newMessage([...message.path, word]), message, option);
        this.#fill(arm, value, tag);
        return { key, field: single(arm), node: option, docs };
      });
    });
    this.#finish(message, entries, { nameOf: (key) => snakeCase(key, snakeCase(tag)) });
  }

  #tuple(message: ProtoMessage, { items, rest }: NodeOf<"tuple">): void {
    message.form = { kind: "tuple" };
    const entries = items.map((item, index): Entry => {
      const words = { own: `Item${index + 1}`, element: `Item${index + 1}` };
      return { key: `item${index + 1}`, field: this.#field(valueOf(item), message, words), node: item };
    });
    if (rest !== undefined) {
      const type = this.#element(valueOf(rest), message, "Rest");
      entries.push({ key: "rest", field: { label: "repeated", type, collection: "array" }, node: rest });
    }
    this.#finish(message, entries);
  }

  /** Returns the type of a union: the type of all options if it is the same, otherwise a message with a oneof. */
  #choice(value: Value, options: readonly Value[], owner: ProtoMessage, word: string): ProtoType {
    const common = commonType(options);
    if (common !== undefined) return common;
    const simple = options.map((option) => simpleType(option));
    return this.#message(value.node, owner, word, (message) => {
      message.oneof = "kind";
      message.form = { kind: "choice" };
      const entries = new Map<string, Entry>();
      for (const [index, option] of options.entries()) {
        const type = simple[index];
        const given = type === undefined ? this.#nameOf(option.node) : undefined;
        const text =
          type?.name.split(".").at(-1) ?? given ?? discriminatorText(value.node, option.node) ?? `option${index + 1}`;
        const key = type === undefined ? snakeCase(text) : `${snakeCase(text)}_value`;
        const earlier = entries.get(key);
        const scalars = [earlier?.field.type, type].filter((each) => each?.kind === "scalar");
        const known = type?.kind === "scalar" ? commonScalar(scalars) : type;
        const field = single(known ?? this.#element(option, message, typeName(text)));
        if (earlier !== undefined && type !== undefined) entries.set(key, { ...earlier, field });
        else entries.set(entries.has(key) ? `${key}_${index + 1}` : key, { key, field, node: option.node });
      }
      this.#finish(
        message,
        Array.from(entries, ([key, entry]) => ({ ...entry, key })),
      );
    });
  }

  #enum(
    node: SchemaNode,
    texts: readonly string[],
    members: ReadonlyMap<string, number> | undefined,
    owner: ProtoMessage,
    word: string,
  ): ProtoEnum {
    const { schema } = canonicalNode(node);
    const known = this.#declared.named.get(schema);
    if (known?.kind === "enum") return known;
    const named = this.#nameOf(node);
    const path = named === undefined ? [...owner.path, word] : [named];
    const docs = this.#types.namedNode(node)?.docs;
    const locked = this.#declared.lockedOf(path);
    const type = enumType(path, [...(members?.keys() ?? texts)], members, locked, docs);
    this.#declared.add(type, named === undefined ? owner : undefined, node);
    if (named !== undefined) this.#declared.named.set(schema, type);
    return type;
  }

  #openEnum(node: SchemaNode, mark: EnumMark, owner: ProtoMessage): ProtoEnum {
    // The members of an enum must be distinct from those of others in the same scope.
    const scope = mark.enum.includes(".") ? owner : undefined;
    const siblings = this.#declared.typesIn(scope);
    const { docs } = this.#types.namedNode(node) ?? {};
    const type = openEnum(scope?.path ?? [], mark, docs, siblings, () => this.#declared.namesIn(scope));
    return siblings.includes(type) ? type : this.#declared.add(type, scope, node);
  }

  #finish(message: ProtoMessage, entries: readonly Entry[], options: FinishOptions = {}): void {
    finishMessage(message, entries, this.#declared.lockedOf(message.path), options);
  }
}
