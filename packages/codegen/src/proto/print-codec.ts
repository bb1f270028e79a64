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
  addInside,
  type Declared,
  fullName,
  isMessage,
  type MessageForm,
  newMessage,
  packageNameOf,
  type ProtoEnum,
  type ProtoField,
  type ProtoMessage,
  type ProtoService,
  type ProtoType,
} from "./model.js";
import { freeName } from "./names.js";
import { functionName, initialOf, isRest, isSent, type Place, tagged, tagOf, wireOf } from "./print-field.js";

/**
 * Returns the text of the file with the protobuf readers and writers of the services' messages.
 *
 * @param descriptors file descriptors in base64, by package
 */
export function printProtobuf(
  { schemaFile, services }: FileModel,
  protos: ReadonlyMap<string, ProtoService>,
  descriptors: ReadonlyMap<string, string>,
): string {
  const printer = new Printer();
  const constants = services.flatMap(({ name, prefix }) => {
    const proto = protos.get(name);
    return proto === undefined ? [] : [printer.service(name, prefix, proto)];
  });
  const packages = new Set(services.filter(({ name }) => protos.has(name)).map(({ name }) => packageNameOf(name)));
  const files = Array.from(packages, (name) => `const ${fileName(name)} = ${quoted(descriptors.get(name) ?? "")};\n`);
  const imports = 'import * as pb from "@quicrpc/protobuf/generated";\n';
  return joinParts([headerFor(basename(schemaFile)) + UNCHECKED, imports, ...printer.types(), ...files, ...constants]);
}

function fileName(packageName: string): string {
  return camelCase(`${packageName.replaceAll(".", "_")}_file`);
}

/** Number of fields that take as much memory as a short list. */
const LIST_FIELDS = 16;

type MapField = Extract<ProtoField, { readonly label: "map" }>;
type TaggedForm = Extract<MessageForm, { readonly kind: "tagged" }>;

class Printer {
  readonly #names = new Map<Declared, string>();
  readonly #taken = new Set<string>();
  readonly #queue: Declared[] = [];
  readonly #entries = new Map<MapField, ProtoMessage>();
  /** Messages that are options of a union, or nested in one. */
  readonly #inUnions = new Set<ProtoMessage>();

  service(name: string, prefix: string, { methods }: ProtoService): string {
    const packageName = packageNameOf(name);
    const messages = new Set(methods.flatMap(({ input, output }) => [input, output]));
    for (const each of messages) addInside(each, each.form.kind === "choice" ? this.#inUnions : messages);
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
    const file = `file: ${fileName(packageName)}`;
    const fields = [`name: ${quoted(name)}`, file, `methods: ${braced(entries, ",", true)}`];
    const comment = jsDoc(`The messages of ${name} as protobuf.`);
    const constant = `export const ${camelCase(prefix)}Protobuf: pb.ProtobufService`;
    return `${comment}${assignment(constant, braced(fields, ",", true))}\n`;
  }

  /** Returns the reader and writer functions of all messages in use, and the tables of their enums. */
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
    const name = freeName(type.path.map(pascalCase).join(""), this.#taken);
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

  /** Returns the expression for the function that reads or writes a value of a type, without its tag. */
  #function(verb: "read" | "write", type: ProtoType): string {
    if (type.kind === "message") return verb + this.#name(type);
    if (type.kind === "enum" && !type.isNumbered) return `${this.#enumName(type)}.${verb}`;
    return `pb.${verb}${type.kind === "enum" ? "Int32" : functionName(type)}`;
  }

  #places({ fields, oneof }: ProtoMessage): Place[] {
    return fields.map((field) => ({ field, name: `f${field.number}`, isInOneof: oneof !== undefined }));
  }

  #entryOf(field: MapField, owner: ProtoMessage): ProtoMessage {
    const known = this.#entries.get(field);
    if (known !== undefined) return known;
    const part = {
      jsonName: undefined,
      docs: undefined,
      deprecated: false,
      node: undefined,
      label: "optional",
    } as const;
    const entry = newMessage([...owner.path, `${field.name}_entry`]);
    entry.form = { kind: "entry" };
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
    const isEntry = message.form.kind === "entry";
    const lists = places.filter(({ field }) => field.label === "repeated" || field.label === "map").length;
    const variables = places.map((place) => {
      const initial = initialOf(place, isEntry);
      return initial === undefined ? `let ${place.name};` : `let ${place.name} = ${initial};`;
    });
    const cases = places.flatMap((place) => this.#cases(place, message));
    const end = "default: pb.skipField(r, tag, end, depth);";
    const hasOneof = message.fields.some(({ label }) => label === "oneof");
    return block(`function read${this.#name(message)}(r, end, depth)`, [
      // The reader of a oneof reads the same bytes again, without the other fields.
      ...(hasOneof ? ["const whole = [r.position, end];"] : []),
      `pb.countFields(${places.length + lists * LIST_FIELDS});`,
      ...variables,
      ...(message.oneof === undefined ? [] : ["let choice = 0;"]),
      block("while (r.position < end)", ["const tag = pb.readTag(r, end);", block("switch (tag)", [...cases, end])]),
      ...this.#result(message, places, isEntry),
    ]);
  }

  #cases({ field, name, isInOneof }: Place, message: ProtoMessage): string[] {
    const { number, type } = field;
    if (field.label === "oneof") {
      const tags = field.type.fields.map((arm) => `case ${tagOf(arm.number, wireOf(arm.type))}:`);
      return [...tags, `${name} = whole; pb.skipField(r, tag, end, depth); break;`];
    }
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

  /** Returns the statements at the end of a reader, which return the value of the message. */
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
        const items = places.map((place) => (isRest(place) ? `...${value(place)}` : value(place)));
        return [`return pb.toTuple([${items.join(", ")}]);`];
      }
      case "pair":
      case "entry":
        return [`return [${places.map(value).join(", ")}];`];
      case "value": {
        const [place] = places;
        return [`return ${place === undefined ? "undefined" : value(place)};`];
      }
      case "choice":
      case "tagged": {
        const cases = places.map((place) => {
          const own = value(place);
          const result = form.kind === "tagged" ? taggedValue(form, place.field.key, own) : own;
          return `case ${place.field.number}: return ${result};`;
        });
        return [block("switch (choice)", [...cases, "default: return undefined;"])];
      }
    }
  }

  /** Returns the expression for the value of a field, after the message has been read. */
  #value({ field, name }: Place, isEntry: boolean): string {
    if (field.label === "repeated" || field.label === "map") {
      return field.collection === "array" ? name : `pb.to${pascalCase(field.collection)}(${name})`;
    }
    const { type } = field;
    const parts = isEntry ? `${name} ?? [0, 0]` : name;
    const depth = field.label === "oneof" ? "depth + 1" : "depth";
    const value = isMessage(type) ? `pb.readParts(r, ${parts}, ${this.#function("read", type)}, ${depth})` : name;
    return field.absent === "null" ? `${value} ?? null` : value;
  }

  // Writing

  #writer(message: ProtoMessage): string {
    const places = this.#places(message);
    const head = `function write${this.#name(message)}(b, p, value, depth)`;
    const { form } = message;
    if (form.kind === "choice") return this.#choiceWriter(places, message, head);
    if (form.kind === "tagged") {
      const content = form.content === undefined ? "value" : property("value", form.content);
      const cases = places.map((place) => {
        const tag = form.tags.get(place.field.key);
        return block(`case ${expression(tag?.value)}:`, this.#write(place, message, content, "return "));
      });
      const of = block(`switch (${property("value", form.key)})`, [...cases, "default: return pb.misfit();"]);
      return block(head, ["pb.requireObject(value);", of]);
    }
    const name = `keysOf${this.#name(message)}`;
    const keys = form.kind === "fields" && this.#inUnions.has(message) ? arrayOf(form.keys.map(quoted)) : undefined;
    const check: string[] = [];
    if (form.kind === "tuple") check.push(`pb.arrayOf(value${places.some(isRest) ? "" : `, ${places.length}`});`);
    if (form.kind === "fields") {
      const isKnown = keys !== undefined;
      check.push(isKnown ? `pb.requireFields(value, ${name}, ${form.isStrict});` : "pb.requireObject(value);");
    }
    const lines = places.flatMap((place, index) => {
      const { field, name } = place;
      const source = {
        fields: property("value", field.key),
        tuple: isRest(place) ? `value.slice(${index})` : `value[${index}]`,
        pair: `value[${index}]`,
        entry: `value[${index}]`,
        value: "value",
      }[form.kind];
      return [`const ${name} = ${source};`, ...this.#writeField(place, message)];
    });
    const table = keys === undefined ? "" : `const ${name} = new Set(${keys});\n\n`;
    return table + block(head, [...check, ...lines, "return p;"]);
  }

  /** Returns the writer of a union: a table of functions that write its options, and the function that selects one. */
  #choiceWriter(places: readonly Place[], message: ProtoMessage, head: string): string {
    const name = `optionsOf${this.#name(message)}`;
    const options = places.map((place) =>
      block("(b, p, value, depth) =>", this.#write(place, message, "value", "return ")),
    );
    const table = `const ${name} = ${arrayOf(options, true)};\n\n`;
    return table + block(head, [`return pb.writeOption(b, p, value, depth, ${name});`]);
  }

  /** Returns the statements that write a field and its tag, unless the field is not sent. */
  #writeField(place: Place, message: ProtoMessage): string[] {
    const { field, name } = place;
    if (field.label === "map" || field.label === "repeated") {
      const list = {
        array: `pb.arrayOf(${name})`,
        set: `pb.setValues(${name})`,
        map: `pb.mapEntries(${name})`,
        record: `pb.recordEntries(${name})`,
      }[field.collection];
      if (field.label === "repeated" && wireOf(field.type) !== 2 && field.isUnpacked !== true) {
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
    const lines =
      field.label === "oneof"
        ? [`p = ${this.#function("write", type)}(b, p, ${name}, depth);`]
        : this.#write(place, message, name, "p = ");
    const condition = isSent(field);
    const values = type.kind === "scalar" ? type.values : undefined;
    const check = values === undefined ? [] : [`pb.requireOne(${[name, ...values.map(expression)].join(", ")});`];
    if (condition === undefined) return [...check, ...lines];
    if (field.absent !== undefined) return [block(`if (${condition(name)})`, [...check, ...lines])];
    return [...check, block(`if (${condition(name)})`, lines)];
  }

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

/**
 * Returns the expression for an option of a discriminated union.
 *
 * @param field key of the option's field
 * @param own expression for the value of that field
 */
function taggedValue({ key, tags, content }: TaggedForm, field: string, own: string): string {
  const { value, isArm = false } = tags.get(field) ?? {};
  const tag = `${keyText(key)}: ${expression(value)}`;
  if (content !== undefined) return braced([tag, `${keyText(content)}: ${own}`]);
  if (!isArm) return own;
  return braced([...(value === undefined ? [] : [tag]), `...${own}`]);
}
