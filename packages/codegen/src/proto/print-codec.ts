import { basename } from "node:path";
import { expression } from "../codec/literals.js";
import type { FileModel } from "../model.js";
import { camelCase, pascalCase } from "../names.js";
import { UNCHECKED } from "../print/codecs.js";
import { headerFor } from "../print/header.js";
import { arrayOf, assignment, block, braced, callOf } from "../print/syntax.js";
import { keyText, property, quoted } from "../print/text.js";
import { joinParts, jsDoc } from "../print/writer.js";
import {
  type Declared,
  fullName,
  isMessage,
  newMessage,
  packageNameOf,
  type ProtoEnum,
  type ProtoField,
  type ProtoMessage,
  type ProtoScalar,
  type ProtoService,
  type ProtoType,
  type SingleType,
} from "./model.js";

/** Returns the text of the file with the readers and writers of the services' messages. */
export function printProtobuf({ schemaFile, services }: FileModel, protos: ReadonlyMap<string, ProtoService>): string {
  const printer = new Printer();
  const constants = services.flatMap(({ name, prefix }) => {
    const proto = protos.get(name);
    return proto === undefined ? [] : [printer.service(name, prefix, proto)];
  });
  const imports = 'import * as pb from "@quicrpc/protobuf/generated";\n';
  return joinParts([headerFor(basename(schemaFile)) + UNCHECKED, imports, ...printer.types(), ...constants]);
}

/** A field as the functions of its message handle it. */
interface Place {
  readonly field: ProtoField;
  /** Name of the variable with its value. */
  readonly name: string;
  readonly isInOneof: boolean;
}

class Printer {
  readonly #names = new Map<Declared, string>();
  readonly #taken = new Set<string>();
  readonly #queue: Declared[] = [];
  /** The messages of the entries of maps, by field. */
  readonly #entries = new Map<ProtoField, ProtoMessage>();

  service(name: string, prefix: string, { methods }: ProtoService): string {
    const packageName = packageNameOf(name);
    const message = (type: ProtoMessage): string =>
      braced([
        `name: ${quoted(fullName(packageName, type.path))}`,
        `read: read${this.#name(type)}`,
        `write: write${this.#name(type)}`,
      ]);
    const entries = methods.map((method) => {
      const fields = [`input: ${message(method.input)}`, `output: ${message(method.output)}`];
      return `${keyText(method.key)}: ${braced([`name: ${quoted(method.name)}`, ...fields], ",", true)}`;
    });
    const fields = [`name: ${quoted(name)}`, `methods: ${braced(entries, ",", true)}`];
    const comment = jsDoc(`The messages of ${name} as protobuf.`);
    const constant = `export const ${camelCase(prefix)}Protobuf: pb.ProtobufService`;
    return `${comment}${assignment(constant, braced(fields, ",", true))}\n`;
  }

  /** Prints the functions of the messages that are used, and the tables of their enums. */
  types(): string[] {
    const functions: string[] = [];
    const enums: string[] = [];
    for (const type of this.#queue) {
      if (type.kind === "enum") enums.push(this.#enum(type));
      else functions.push(`${this.#reader(type)}\n`, `${this.#writer(type)}\n`);
    }
    return [enums.join(""), ...functions];
  }

  #name(type: Declared): string {
    const known = this.#names.get(type);
    if (known !== undefined) return known;
    const wanted = type.path.map(pascalCase).join("");
    let name = wanted;
    for (let n = 2; this.#taken.has(name); n++) name = `${wanted}${n}`;
    this.#taken.add(name);
    this.#names.set(type, name);
    this.#queue.push(type);
    return name;
  }

  #enum(type: ProtoEnum): string {
    const members = type.values.map(({ key, number }) => `[${quoted(key)}, ${number}]`);
    const table = callOf("new pb.Enumeration", [arrayOf(members, members.length > 1)]);
    return `${assignment(`const ${this.#enumName(type)}`, table)}\n`;
  }

  #enumName(type: ProtoEnum): string {
    return `${camelCase(this.#name(type))}Enum`;
  }

  /** Returns the expression for the function that reads or writes a value without its tag. */
  #function(verb: "read" | "write", type: ProtoType): string {
    if (type.kind === "message") return verb + this.#name(type);
    if (type.kind === "enum" && !type.isNumbered) return `${this.#enumName(type)}.${verb}`;
    return `pb.${verb}${type.kind === "enum" ? "Int32" : functionName(type)}`;
  }

  #places({ fields, oneof }: ProtoMessage): Place[] {
    return fields.map((field) => ({ field, name: `f${field.number}`, isInOneof: oneof !== undefined }));
  }

  /** Returns the message of an entry of a map. */
  #entryOf(field: ProtoField, owner: ProtoMessage): ProtoMessage {
    const known = this.#entries.get(field);
    if (known !== undefined || field.label !== "map") return known ?? newMessage([]);
    const part = {
      jsonName: undefined,
      docs: undefined,
      deprecated: false,
      node: undefined,
      label: "optional",
    } as const;
    const entry = newMessage([...owner.path, `${field.name}_entry`]);
    entry.form = { kind: "pair" };
    entry.fields = [
      { ...part, key: "key", name: "key", number: 1, type: field.keyType },
      { ...part, key: "value", name: "value", number: 2, type: field.type },
    ];
    this.#entries.set(field, entry);
    return entry;
  }

  // Reading

  #reader(message: ProtoMessage): string {
    const places = this.#places(message);
    const isEntry = message.form.kind === "pair" && message.fields.every(({ node }) => node === undefined);
    const variables = places.map((place) => {
      const initial = initialOf(place, isEntry);
      return initial === undefined ? `let ${place.name};` : `let ${place.name} = ${initial};`;
    });
    const cases = places.flatMap((place) => this.#cases(place, message));
    const end = "default: pb.skipField(r, tag, end, depth);";
    return block(`function read${this.#name(message)}(r, end, depth)`, [
      `pb.countFields(${places.length});`,
      ...variables,
      ...(message.oneof === undefined ? [] : ["let choice = 0;"]),
      block("while (r.position < end)", ["const tag = pb.readTag(r, end);", block("switch (tag)", [...cases, end])]),
      ...this.#result(message, places, isEntry),
    ]);
  }

  #cases({ field, name, isInOneof }: Place, message: ProtoMessage): string[] {
    const { number, type } = field;
    const line = (wire: number, statement: string): string => {
      const note = isInOneof ? ` choice = ${number};` : "";
      return `case ${tagOf(number, wire)}: ${statement}${note} break;`;
    };
    if (field.label === "map" || (field.label === "repeated" && isMessage(type))) {
      const read =
        field.label === "map" ? `read${this.#name(this.#entryOf(field, message))}` : this.#function("read", type);
      return [line(2, `pb.push(${name}, pb.readMessage(r, end, ${read}, depth));`)];
    }
    if (isMessage(type)) {
      const before = isInOneof ? `choice === ${number} ? ${name} : undefined` : name;
      return [line(2, `${name} = pb.takePart(r, end, ${before});`)];
    }
    const read = this.#function("read", type);
    const wire = wireOf(type);
    if (field.label !== "repeated") return [line(wire, `${name} = ${read}(r, end);`)];
    const unpacked = line(wire, `pb.push(${name}, ${read}(r, end));`);
    return wire === 2 ? [unpacked] : [line(2, `pb.readPacked(r, end, ${read}, ${name});`), unpacked];
  }

  /** Returns the statements that return the value of a message. */
  #result({ form }: ProtoMessage, places: readonly Place[], isEntry: boolean): string[] {
    const value = (place: Place): string => this.#value(place, isEntry);
    switch (form.kind) {
      case "fields": {
        const isLate = ({ field }: Place): boolean => "absent" in field && field.absent === "undefined";
        const early = places.filter((place) => !isLate(place));
        const literal = braced(early.map((place) => `${keyText(place.field.key)}: ${value(place)}`));
        const late = places.filter(isLate);
        if (late.length === 0) return [`return ${literal};`];
        const sets = late.map((place) => {
          const set = assignment(property("value", place.field.key), value(place));
          return block(`if (${place.name} !== undefined)`, [set]);
        });
        return [`const value = ${literal};`, ...sets, "return value;"];
      }
      case "tuple": {
        const items = places.map((place) =>
          place.field.label === "repeated" && place.field.key === "rest" ? `...${value(place)}` : value(place),
        );
        return [`return pb.toTuple([${items.join(", ")}]);`];
      }
      case "pair":
        return [`return [${places.map(value).join(", ")}];`];
      case "value": {
        const [place] = places;
        return [`return ${place === undefined ? "undefined" : value(place)};`];
      }
      case "choice":
      case "tagged": {
        const cases = places.map((place) => {
          const tag = form.kind === "tagged" ? form.tags.get(place.field.key) : undefined;
          const own = value(place);
          const result =
            form.kind === "tagged" && tag?.isArm === true
              ? braced([
                  ...(tag.value === undefined ? [] : [`${keyText(form.key)}: ${expression(tag.value)}`]),
                  `...${own}`,
                ])
              : own;
          return `case ${place.field.number}: return ${result};`;
        });
        return [block("switch (choice)", [...cases, "default: return undefined;"])];
      }
    }
  }

  /** Returns the expression for the value of a field. */
  #value({ field, name }: Place, isEntry: boolean): string {
    if (field.label === "repeated" || field.label === "map") {
      return field.collection === "array" ? name : `pb.to${pascalCase(field.collection)}(${name})`;
    }
    const { type } = field;
    const parts = isEntry ? `${name} ?? [0, 0]` : name;
    const value = isMessage(type) ? `pb.readParts(r, ${parts}, ${this.#function("read", type)}, depth)` : name;
    return field.absent === "null" ? `${value} ?? null` : value;
  }

  // Writing

  #writer(message: ProtoMessage): string {
    const places = this.#places(message);
    const head = `function write${this.#name(message)}(b, p, value, depth)`;
    const { form } = message;
    if (form.kind === "choice") return block(head, this.#writeChoice(places, message));
    if (form.kind === "tagged") {
      const cases = places.map((place) => {
        const tag = form.tags.get(place.field.key);
        return block(`case ${expression(tag?.value)}:`, this.#write(place, message, "value", "return "));
      });
      const of = block(`switch (${property("value", form.key)})`, [...cases, "default: return pb.misfit();"]);
      return block(head, ["pb.requireObject(value);", of]);
    }
    const check =
      form.kind === "fields" ? ["pb.requireObject(value);"] : form.kind === "tuple" ? ["pb.arrayOf(value);"] : [];
    const lines = places.flatMap((place, index) => {
      const { field, name } = place;
      const isRest = form.kind === "tuple" && field.key === "rest" && field.label === "repeated";
      const source = {
        fields: property("value", field.key),
        tuple: isRest ? `value.slice(${index})` : `value[${index}]`,
        pair: `value[${index}]`,
        value: "value",
      }[form.kind];
      return [`const ${name} = ${source};`, ...this.#writeField(place, message)];
    });
    return block(head, [...check, ...lines, "return p;"]);
  }

  /**
   * Returns the statements that write a union: as its first option that matches, of objects the one with most fields.
   * Checks of the options are not run here. The receiver tries all options with what it gets, so more is never wrong.
   */
  #writeChoice(places: readonly Place[], message: ProtoMessage): string[] {
    const others = places.filter((place) => fieldCount(place) === undefined);
    const objects = places.filter((place) => fieldCount(place) !== undefined);
    objects.sort((a, b) => (fieldCount(b) ?? 0) - (fieldCount(a) ?? 0));
    const tries = [...others, ...objects].map((place, index) => {
      const lines = this.#write(place, message, "value", "return ");
      if (index === places.length - 1) return lines.join("\n");
      const made = `pb.attempt(() => {\n  ${lines.join("\n").replaceAll("\n", "\n  ")}\n})`;
      const result = `q${place.field.number}`;
      return `const ${result} = ${made};\nif (${result} !== undefined) return ${result};`;
    });
    return tries.length === 0 ? ["return pb.misfit();"] : tries;
  }

  /** Returns the statements that write a field with its tag, unless its message leaves it out. */
  #writeField(place: Place, message: ProtoMessage): string[] {
    const { field, name } = place;
    if (field.label === "map" || field.label === "repeated") {
      const list = {
        array: `pb.arrayOf(${name})`,
        set: `pb.setValues(${name})`,
        map: `pb.mapEntries(${name})`,
        record: `pb.recordEntries(${name})`,
      }[field.collection];
      if (field.label === "repeated" && wireOf(field.type) !== 2) {
        const call = (at: string): string => `pb.writePacked(b, ${at}, list, ${this.#function("write", field.type)})`;
        return [
          block("", [
            `const list = ${list};`,
            block("if (list.length > 0)", tagged(field.number, 2, "p = ", call)),
          ]).trim(),
        ];
      }
      return [block(`for (const each of ${list})`, this.#write(place, message, "each", "p = "))];
    }
    const { type } = field;
    const lines = this.#write(place, message, name, "p = ");
    const condition = isSent(field);
    const values = type.kind === "scalar" ? type.values : undefined;
    const check = values === undefined ? [] : [`pb.requireOne(${[name, ...values.map(expression)].join(", ")});`];
    if (condition === undefined) return [...check, ...lines];
    if (field.absent !== undefined) return [block(`if (${condition(name)})`, [...check, ...lines])];
    return [...check, block(`if (${condition(name)})`, lines)];
  }

  /** Returns the statements that write the tag of a field, and a value. */
  #write({ field }: Place, message: ProtoMessage, value: string, result: string): string[] {
    const { number, type } = field;
    const entry = field.label === "map" ? this.#entryOf(field, message) : undefined;
    const write = this.#function("write", entry ?? type);
    const isNested = entry !== undefined || isMessage(type);
    return tagged(number, isNested ? 2 : wireOf(type), result, (at) =>
      isNested ? `pb.writeMessage(b, ${at}, ${value}, ${write}, depth)` : `${write}(b, ${at}, ${value})`,
    );
  }
}

/** Returns the number of fields of an object; undefined for another value. */
function fieldCount({ field: { type } }: Place): number | undefined {
  return type.kind === "message" && type.form.kind === "fields" ? type.fields.length : undefined;
}

/** Returns the statements that write a tag, and what `write` writes at the position after it. */
function tagged(number: number, wire: number, result: string, write: (at: string) => string): string[] {
  const bytes: number[] = [];
  for (let rest = tagOf(number, wire); ; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) + (rest >= 128 ? 128 : 0));
    if (rest < 128) break;
  }
  const stores = bytes.map((byte, index) => `b[${index === 0 ? "p" : `p + ${index}`}] = ${byte};`);
  return [...stores, `${result}${write(`p + ${bytes.length}`)};`];
}

function tagOf(number: number, wire: number): number {
  return number * 8 + wire;
}

function wireOf(type: ProtoType): number {
  if (type.kind !== "scalar") return isMessage(type) ? 2 : 0;
  return { string: 2, bytes: 2, double: 1, float: 5 }[type.name as string] ?? 0;
}

const KNOWN = {
  "google.protobuf.NullValue": "Null",
  "google.protobuf.Timestamp": "Timestamp",
  "google.protobuf.Value": "Any",
} as const;

/** Returns the end of the names of the functions that read and write a type. */
function functionName(type: Exclude<ProtoType, Declared>): string {
  if (type.kind === "known") return KNOWN[type.name];
  if (type.name === "int64" && type.isBig !== true) return "Int";
  return type.name.charAt(0).toUpperCase() + type.name.slice(1);
}

/** Returns the initial value of the variable of a field; undefined for none. */
function initialOf({ field, isInOneof }: Place, isEntry: boolean): string | undefined {
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

/** Returns the condition under which a field is sent; undefined if it always is. */
function isSent(field: SingleType): ((name: string) => string) | undefined {
  const { type, absent } = field;
  if (absent !== undefined) return (name) => `${name} !== ${absent}`;
  if (field.label === "optional" || type.kind === "message" || isMessage(type)) return undefined;
  if (type.kind === "enum") return type.isNumbered ? (name) => `${name} !== 0` : undefined;
  if (type.kind === "known") return (name) => `${name} !== null`;
  if (type.name === "bytes") return (name) => `!pb.isEmpty(${name})`;
  if (type.name === "double" || type.name === "float") return (name) => `!Object.is(${name}, 0)`;
  return (name) => `${name} !== ${defaultOf(type)}`;
}
