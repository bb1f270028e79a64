import { headerFor } from "../print/header.js";
import { commentLines } from "../print/text.js";
import {
  type Declared,
  fullName,
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

export function protoFileOf(packageName: string): string {
  const parts = packageName === "" ? ["services"] : packageName.split(".");
  const name = parts.findLast((part) => !/^v\d/.test(part)) ?? "services";
  return [...(packageName === "" ? [] : parts), `${name}.proto`].join("/");
}

/** Returns the text of a package's `.proto` file, in proto3. */
export function printProto(model: ProtoPackage, sources: readonly string[]): string {
  const { name, services, types } = model;
  const imports = importsOf(types);
  const head = [
    `${headerFor(sources.join(", "))}syntax = "proto3";`,
    ...(name === "" ? [] : [`package ${name};`]),
    ...(imports.length === 0 ? [] : [imports.map((file) => `import "${file}";`).join("\n")]),
  ];
  const printer = new Printer(model);
  const parts = [...services.map((each) => printer.service(each)), ...types.map((each) => printer.type(each))];
  return `${[...head, ...parts.map((lines) => lines.join("\n"))].join("\n\n")}\n`;
}

const FILES: Readonly<Record<string, string>> = {
  "google.protobuf.NullValue": "google/protobuf/struct.proto",
  "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
  "google.protobuf.Value": "google/protobuf/struct.proto",
};

/** Returns the paths of protobuf's own files that contain the types used by `types`. */
export function importsOf(types: readonly Declared[]): string[] {
  const files = (type: Declared): string[] =>
    type.kind === "enum"
      ? []
      : [
          ...numberedFields(type).flatMap(({ type }) => (type.kind === "known" ? [FILES[type.name] ?? ""] : [])),
          ...type.nested.flatMap(files),
        ];
  return [...new Set(types.flatMap(files))].sort();
}

class Printer {
  readonly #package: string;
  /** Full names of the types, methods and packages that a reference may resolve to. */
  readonly #names = new Set<string>();

  constructor({ name, services, types }: ProtoPackage) {
    this.#package = name;
    const parts = name.split(".");
    for (const index of parts.keys()) this.#names.add(parts.slice(0, index + 1).join("."));
    for (const each of services) {
      for (const path of [[], ...each.methods.map((method) => [method.name])]) {
        this.#names.add(fullName(name, [each.name, ...path]));
      }
    }
    const add = (type: Declared): void => {
      this.#names.add(fullName(name, type.path));
      if (type.kind === "message") for (const each of type.nested) add(each);
    };
    for (const type of types) add(type);
  }

  service({ name, docs, methods }: ProtoService): string[] {
    const lines = methods.flatMap((method) => {
      const input = `${method.streamsInput ? "stream " : ""}${this.#reference(method.input, [name])}`;
      const output = `${method.streamsOutput ? "stream " : ""}${this.#reference(method.output, [name])}`;
      const head = `rpc ${method.name}(${input}) returns (${output})`;
      const { idempotency } = method;
      return [
        ...comment(method.docs),
        ...(idempotency === undefined ? [`${head};`] : block(head, [`option idempotency_level = ${idempotency};`])),
      ];
    });
    // The name of the service is part of the path of calls, so it cannot change to satisfy the lint rule.
    const ignored = name.endsWith("Service") ? [] : ["// buf:lint:ignore SERVICE_SUFFIX"];
    return [...comment(docs), ...ignored, ...block(`service ${name}`, lines)];
  }

  type(type: Declared): string[] {
    return type.kind === "message" ? this.#message(type) : enumLines(type);
  }

  #message(message: ProtoMessage): string[] {
    const { path, docs, fields, oneof, nested, removed } = message;
    const lines = fields.flatMap((field) => this.#field(field, path));
    const body = [
      ...nested.flatMap((type) => this.type(type)),
      ...(oneof === undefined ? lines : block(`oneof ${oneof}`, lines)),
      ...reserved(removed),
    ];
    return [...comment(docs), ...block(`message ${path.at(-1)}`, body)];
  }

  #field(field: ProtoField, scope: readonly string[]): string[] {
    if (field.label === "oneof") {
      const lines = field.type.fields.flatMap((arm) => this.#field(arm, scope));
      return [...comment(field.docs), ...block(`oneof ${field.type.oneof}`, lines)];
    }
    const type = this.#reference(field.type, scope);
    const text =
      field.label === "map"
        ? `map<${field.keyType.name}, ${type}>`
        : `${field.label === "implicit" ? "" : `${field.label} `}${type}`;
    const options = [
      ...(field.jsonName === undefined ? [] : [`json_name = ${literal(field.jsonName)}`]),
      ...(field.label === "repeated" && field.isUnpacked === true ? ["packed = false"] : []),
      ...(field.deprecated ? ["deprecated = true"] : []),
    ];
    const more = options.length === 0 ? "" : ` [${options.join(", ")}]`;
    return [...comment(field.docs), `${text} ${field.name} = ${field.number}${more};`];
  }

  /** Returns the text by which the message at the path `scope` refers to a type. */
  #reference(type: ProtoType, scope: readonly string[]): string {
    if (type.kind === "scalar") return type.name;
    const target = type.kind === "known" ? type.name : fullName(this.#package, type.path);
    // A type nested in the same or an enclosing message is referred to by its own name, other types by their path.
    const isNear = type.kind !== "known" && type.path.slice(0, -1).every((part, index) => scope[index] === part);
    const text = type.kind === "known" ? type.name : isNear ? (type.path.at(-1) ?? "") : type.path.join(".");
    return this.#resolved(text, scope) === target ? text : `.${target}`;
  }

  /**
   * Returns the full name to which protobuf resolves `text`. The innermost scope that declares its first part decides.
   */
  #resolved(text: string, scope: readonly string[]): string {
    const [first = ""] = text.split(".");
    const scopes = [...this.#package.split(".").filter(Boolean), ...scope];
    for (let length = scopes.length; length > 0; length--) {
      const outer = scopes.slice(0, length).join(".");
      if (this.#names.has(`${outer}.${first}`)) return `${outer}.${text}`;
    }
    return text;
  }
}

function enumLines(type: ProtoEnum): string[] {
  const { path, docs, zero, removed } = type;
  const members = membersOf(type).flatMap(({ name, number }) => [
    ...(number === 0 && name !== zero ? ["// buf:lint:ignore ENUM_ZERO_VALUE_SUFFIX"] : []),
    `${name} = ${number};`,
  ]);
  return [...comment(docs), ...block(`enum ${path.at(-1)}`, [...members, ...reserved(removed)])];
}

function reserved({ numbers, names }: Removed): string[] {
  return [
    ...(numbers.length === 0 ? [] : [`reserved ${numbers.join(", ")};`]),
    ...(names.length === 0 ? [] : [`reserved ${names.map(literal).join(", ")};`]),
  ];
}

function block(head: string, lines: readonly string[]): string[] {
  return lines.length === 0
    ? [`${head} {}`]
    : [`${head} {`, ...lines.map((line) => (line === "" ? "" : `  ${line}`)), "}"];
}

function comment(docs: string | undefined): string[] {
  if (docs === undefined) return [];
  // Line comments are used, because they may contain the end of a block comment.
  const lines = commentLines(docs.replace(/\s*@deprecated\s*$/, "").trim()).map((line) =>
    line.replaceAll("*\\/", "*/"),
  );
  return lines.join("") === "" ? [] : lines.map((line) => `// ${line}`.trimEnd());
}

/** Returns `text` as a protobuf string literal, in ASCII. */
function literal(text: string): string {
  const bytes = [...new TextEncoder().encode(text)];
  const escaped = bytes.map((byte) =>
    byte === 0x22 || byte === 0x5c || byte < 0x20 || byte > 0x7e
      ? `\\${byte.toString(8).padStart(3, "0")}`
      : String.fromCharCode(byte),
  );
  return `"${escaped.join("")}"`;
}
