import protobuf from "protobufjs";
import { isIdentifier, isReservedMethodName, isReservedWord } from "../names.js";
import { methodName } from "../proto/model.js";
import { type Imports, importText } from "../print/imports.js";
import { braced } from "../print/syntax.js";
import { keyText, quoted } from "../print/text.js";
import { joinParts, jsDoc } from "../print/writer.js";
import {
  type FieldContext,
  fieldProperty,
  jsonName,
  KNOWN,
  knownName,
  oneofProperty,
  type Property,
  type Reference,
  SCALARS,
  WRAPPERS,
} from "./fields.js";
import { hasMessageRules } from "./rules.js";

export type Declaration = protobuf.Type | protobuf.Enum;

/** What a module needs from the others. */
export interface ModuleContext {
  /** Returns the constant that contains the schema of a type in its module. */
  readonly constantOf: (object: Declaration | protobuf.Service) => string;
  /** Returns the path of the module that a type belongs to; undefined if it is this module. */
  readonly fileOf: (type: Declaration) => string | undefined;
  /** Reports something that is left out. */
  readonly warn: (object: protobuf.ReflectionObject, message: string, help: string) => void;
}

/** Prints the module with the schemas of a `.proto` file, without its first line. */
export class ModulePrinter {
  readonly #context: ModuleContext;
  /** Messages of this module whose constants are already printed. */
  readonly #printed = new Set<Declaration>();
  /** Messages that are being printed. */
  readonly #open = new Set<Declaration>();
  readonly #parts: string[] = [];
  readonly #imports: Imports;
  readonly #usedOfCore = new Set<string>();

  constructor(context: ModuleContext, imports: Imports) {
    this.#context = context;
    this.#imports = imports;
  }

  print(types: readonly Declaration[], services: readonly protobuf.Service[]): string {
    for (const type of types) if (type instanceof protobuf.Enum) this.#enum(type);
    for (const type of types) if (type instanceof protobuf.Type) this.#message(type);
    for (const service of services) this.#service(service);
    const core = importText("import", [...this.#usedOfCore].sort(), "@quicrpc/core");
    return joinParts([`${core}${this.#imports.print()}import { z } from "zod";\n`, ...this.#parts]);
  }

  readonly #referenceTo = (type: Declaration): Reference => {
    const name = this.#context.constantOf(type);
    const file = this.#context.fileOf(type);
    if (file !== undefined) return { text: this.#imports.schema({ file, name }, true), isLate: false };
    if (type instanceof protobuf.Type) this.#message(type);
    return { text: name, isLate: !this.#printed.has(type) };
  };

  readonly #fields: FieldContext = {
    referenceTo: this.#referenceTo,
    refused: (field, rule) =>
      this.#context.warn(field, `The protovalidate rule ${rule} has no check in zod.`, "Check it in the handler."),
    noDefault: (field) =>
      this.#context.warn(field, "The default value is left out: zod has no literal for it.", "Set it in the handler."),
  };

  #enum(type: protobuf.Enum): void {
    const schema = this.#context.constantOf(type);
    const name = schema.slice(0, -"Schema".length);
    const members = Object.entries(type.values).map(([member, number]) => {
      const comment = jsDoc(type.comments[member] ?? undefined);
      return `${comment}${keyText(member)}: ${number}`;
    });
    const path = pathOf(type).join(".");
    const mark = `.meta({ proto: { enum: ${quoted(path)}, values: ${name} } })`;
    this.#parts.push(
      `${jsDoc(type.comment ?? undefined)}export const ${name} = ${braced(members, ",", true)} as const;\n`,
      `${jsDoc(`A number of \`${name}\`, or of a member that was added later.`)}export const ${schema} = z.int32()${mark};\n`,
    );
    this.#printed.add(type);
  }

  /** Prints a message, after the messages that it refers to. */
  #message(type: protobuf.Type): void {
    if (this.#printed.has(type) || this.#open.has(type)) return;
    this.#open.add(type);
    const properties = this.#properties(type);
    const fields = properties.map(({ comment, text }) => `${jsDoc(comment)}${text}`);
    const marks = properties.map(({ mark }) => mark);
    const ranges = (type.reserved ?? []).filter((each): each is number[] => typeof each !== "string");
    const reserved = ranges.map(([first = 0, last = first]) => (first === last ? `${first}` : `[${first}, ${last}]`));
    const skipped = reserved.length === 0 ? "" : `, protoReserved: [${reserved.join(", ")}]`;
    const meta = `.meta({ proto: ${braced(marks)}${skipped} })`;
    const name = this.#context.constantOf(type);
    const text = `export const ${name} = z.object(${braced(fields, ",", true)})${meta};\n`;
    this.#parts.push(`${jsDoc(type.comment ?? undefined)}${text}`);
    this.#printed.add(type);
    if (hasMessageRules(type)) this.#fields.refused(type, "of the message");
  }

  #properties(type: protobuf.Type): Property[] {
    const properties: Property[] = [];
    const oneofs = new Set<protobuf.OneOf>();
    const all = [...type.fieldsArray].sort((a, b) => a.id - b.id);
    const fields = all.filter((field) => {
      const leftOut = reasonToOmit(field);
      if (leftOut === undefined) return true;
      // The parser does not keep the file of every extension.
      const declared = field.declaringField?.filename ? field.declaringField : field;
      this.#context.warn(declared, leftOut, "Its bytes are skipped when messages are read, and not sent.");
      return false;
    });
    const keys = this.#keysOf(type, fields);
    for (const field of fields) {
      const oneof = field.partOf;
      if (oneof === null || field.getOption("proto3_optional") === true) {
        properties.push(fieldProperty(field, keys.get(field) ?? "", this.#fields));
      } else if (!oneofs.has(oneof)) {
        oneofs.add(oneof);
        properties.push(oneofProperty(oneof, keys.get(oneof) ?? "", keys, this.#fields));
      }
    }
    return properties;
  }

  /** Returns distinct keys for `fields` and the oneofs of a message. */
  #keysOf(type: protobuf.Type, fields: readonly protobuf.Field[]): Map<protobuf.ReflectionObject, string> {
    const oneofs = type.oneofsArray.filter(({ fieldsArray: [first] }) => first?.getOption("proto3_optional") !== true);
    const keys = distinctKeys([...fields, ...oneofs], jsonName);
    for (const field of fields) {
      const key = keys.get(field) ?? "";
      if (key === jsonName(field)) continue;
      const message = `Two fields of ${type.name} have the JSON name ${jsonName(field)}: this one becomes ${key}.`;
      this.#context.warn(field, message, "Set json_name to choose another name.");
    }
    return keys;
  }

  #service(service: protobuf.Service): void {
    const keys = distinctKeys(service.methodsArray, ({ name }) => methodKey(name));
    const methods = service.methodsArray.flatMap((method) => {
      const key = keys.get(method) ?? "";
      const options = this.#optionsOf(method, key);
      if (options === undefined) return [];
      this.#usedOfCore.add("rpc");
      const docs = [method.comment, method.getOption("deprecated") === true ? "@deprecated" : null];
      const comment = docs.filter((each) => each !== null).join("\n\n");
      return [`${jsDoc(comment)}${keyText(key)}: rpc(${options.length === 0 ? "" : braced(options)})`];
    });
    if (methods.length === 0) {
      this.#context.warn(service, `The service ${service.name} is left out: it has no methods.`, "Add a method.");
      return;
    }
    this.#usedOfCore.add("service");
    const name = this.#context.constantOf(service);
    const wireName = quoted(service.fullName.slice(1));
    const text = `export const ${name} = service(${wireName}, ${braced(methods, ",", true)});\n`;
    this.#parts.push(`${jsDoc(service.comment ?? undefined)}${text}`);
  }

  #optionsOf(method: protobuf.Method, key: string): string[] | undefined {
    const { resolvedRequestType, resolvedResponseType, requestStream = false, responseStream = false } = method;
    if (resolvedRequestType === null || resolvedResponseType === null) return undefined;
    const options: string[] = [];
    for (const [name, type, streams] of [
      ["input", resolvedRequestType, requestStream],
      ["output", resolvedResponseType, responseStream],
    ] as const) {
      const known = knownName(type);
      if (known === "Timestamp" || known === "Value") {
        const help = "Declare a message with a field of this type.";
        this.#context.warn(method, `The method is left out: its ${name} is google.protobuf.${known}.`, help);
        return undefined;
      }
      if (type.fullName === ".google.protobuf.Empty" && !streams) continue;
      const schema =
        known === undefined ? this.#referenceTo(type).text : (KNOWN[known] ?? SCALARS[WRAPPERS[known] ?? ""] ?? "");
      if (streams) this.#usedOfCore.add("stream");
      options.push(`${name}: ${streams ? `stream(${schema})` : schema}`);
    }
    const level: unknown = method.getOption("idempotency_level");
    if (level === "NO_SIDE_EFFECTS") options.push("readOnly: true");
    if (level === "IDEMPOTENT") options.push("idempotent: true");
    if (methodName(key) !== method.name) options.push(`meta: { proto: ${quoted(method.name)} }`);
    return options;
  }
}

/** Returns why a field is left out of its message; undefined if it is not. */
export function reasonToOmit(field: protobuf.Field): string | undefined {
  if (field.declaringField !== null) return "An extension is left out.";
  if (field.delimited && !field.map) return `The group ${field.name} is left out: it has no form in zod schemas.`;
  if (jsonName(field) === "__proto__") return "A field with the JSON name __proto__ is left out.";
  return undefined;
}

/** Returns the names of the messages that contain a type, and its own. */
export function pathOf(type: protobuf.ReflectionObject): string[] {
  const { parent, name } = type;
  return parent instanceof protobuf.Type ? [...pathOf(parent), name] : [name];
}

/** Returns the name of a method in the schema: `getUser` for `GetUser`. */
function methodKey(name: string): string {
  const key = name.charAt(0).toLowerCase() + name.slice(1);
  return isReservedMethodName(key) ? `${key}Method` : key;
}

/** Returns a name for a constant that is not in `taken`, also with each of `suffixes`, and adds it to `taken`. */
export function freeName(name: string, taken: Set<string>, suffixes: readonly string[] = [""]): string {
  const wanted = isIdentifier(name) && !isReservedWord(name) ? name : `_${name}`;
  return free(wanted, taken, suffixes);
}

function free(wanted: string, taken: Set<string>, suffixes: readonly string[] = [""]): string {
  let name = wanted;
  for (let n = 2; suffixes.some((suffix) => taken.has(name + suffix)); n++) name = `${wanted}${n}`;
  for (const suffix of suffixes) taken.add(name + suffix);
  return name;
}

/** Returns distinct keys for `items`: the results of `keyOf`, with a number if an earlier item has the same. */
function distinctKeys<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<Item, string> {
  const taken = new Set(items.map(keyOf));
  const used = new Set<string>();
  return new Map(
    items.map((item) => {
      const wanted = keyOf(item);
      const key = used.has(wanted) ? free(wanted, taken) : wanted;
      used.add(key);
      return [item, key];
    }),
  );
}
