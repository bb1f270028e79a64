import type { MessageModel, MethodModel, ServiceModel } from "../model.js";
import { camelCase } from "../names.js";
import { formatFingerprint } from "../shape/fingerprint.js";
import { generic, text, type TypeNode } from "../types/node.js";
import { hardLine, indent, type Layout, render } from "./layout.js";
import { annotated, typeLayout, type TypeNames } from "./type-text.js";
import { arrayOf, assignment, braced, bracketed, callOf } from "./syntax.js";
import { keyText, quoted } from "./text.js";
import { toolingName } from "./tooling.js";
import { jsDoc } from "./writer.js";

/** Which of the two types of a message is meant: what its sender gives, or what its receiver gets. */
export type Side = "sent" | "received";

/** The type of a message; nothing is void. */
export function messageType(message: MessageModel | undefined, side: Side): TypeNode {
  return message?.[side] ?? text("void");
}

/** The name of the table of descriptors of a service. */
export function tableName({ prefix }: ServiceModel): string {
  return `${camelCase(prefix)}Methods`;
}

/** Prints the service's name and id on the wire, and where tools find more of it. */
export function printIdentity(
  { prefix, name, id }: ServiceModel,
  names: TypeNames,
  tooling: string | undefined,
): string {
  const constant = `const ${camelCase(prefix)}Service`;
  const fields = [`name: ${quoted(name)}`, `id: ${id}`];
  if (tooling === undefined) return `${render([`${constant} = `, braced(fields), " as const;"])}\n`;
  const load = `() => import(${quoted(tooling)}).then((tooling) => tooling.${toolingName(prefix)})`;
  const loading = [`tooling: () =>`, indent(hardLine, load.slice(6))];
  const isLong = load.length + 13 > 120;
  const all = braced([...fields, isLong ? loading : `tooling: ${load}`], ",", true);
  return `${render(assignment(`${constant}: ${names.core("ServiceIdentity")}`, all))}\n`;
}

/**
 * The descriptors of the methods of a service.
 *
 * @param foreign the calls are made without sessions, whose code then stays out of a bundle
 */
export function printDescriptors(service: ServiceModel, names: TypeNames, foreign: boolean): string {
  const { name, prefix, methods } = service;
  const identity = `${camelCase(prefix)}Service`;
  const types = methods.map((method): Layout => [`readonly ${method.name}: `, descriptorType(method, names)]);
  const values = methods.map((method): Layout => [`${method.name}: `, descriptor(method, identity, names, foreign)]);
  const table = [
    `export const ${tableName(service)}: `,
    braced(types, ";", true),
    " = ",
    braced(values, ",", true),
    ";",
  ];
  const comment = jsDoc(`Descriptors of the methods of ${name}, for tools and for calls made by hand.`);
  return `${comment}${render(table)}\n`;
}

function descriptorType(method: MethodModel, names: TypeNames): Layout {
  const { input, output, errors } = method;
  const types: TypeNode[] = [
    text(`"${method.kind}"`),
    messageType(input, "sent"),
    // A handler without input is called with undefined.
    input === undefined ? text("undefined") : messageType(input, "received"),
    messageType(output, "sent"),
    messageType(output, "received"),
  ];
  const args: Layout[] = types.map((each) => typeLayout(each, names));
  if (errors.length > 0) args.push(braced(errorFields(method, names), ";"));
  return bracketed(`${names.core("MethodDescriptor")}<`, args, ">", "");
}

function descriptor(method: MethodModel, identity: string, names: TypeNames, foreign: boolean): Layout {
  const options: Layout[] = [
    `id: ${method.id}`,
    ...(method.input === undefined ? [] : [`input: ${codecName(method.input, names)}`]),
    ...(method.output === undefined ? [] : [`output: ${codecName(method.output, names)}`]),
    ...(method.readOnly ? ["readOnly: true"] : method.idempotent ? ["idempotent: true"] : []),
    ...(method.once ? [`once: ${names.core("onceCalls")}`] : []),
    ...(method.blobs === undefined ? [] : [["blobs: ", callOf(names.core("blobCalls"), [json(method.blobs)], true)]]),
    ...(method.priority === undefined ? [] : [`priority: ${method.priority}`]),
    ...(method.delivery === undefined ? [] : [`delivery: ${quoted(method.delivery)}`]),
    ...(method.via === undefined ? [] : [`via: ${quoted(method.via)}`]),
    ...(method.cursor === undefined ? [] : [["cursor: ", json(method.cursor)]]),
    ...(method.resumable ? ["resumable: true"] : []),
    ...(method.errors.length === 0 ? [] : [errorsTable(method, names)]),
    ...(method.meta === undefined ? [] : [["meta: ", json(method.meta)]]),
    `fingerprint: 0x${formatFingerprint(method.fingerprint)}`,
  ];
  const kind = method.cursor === undefined ? camelCase(method.kind) : "cursorStream";
  const calling = foreign ? prefixed("foreign", kind) : (method.delivery ?? resumable(method, kind));
  const first = [identity, names.core(`${calling}Calls`), quoted(method.name)];
  return callOf(names.core("describeMethod"), [...first, braced(options, ",", options.length > 2)], true);
}

function resumable(method: MethodModel, kind: string): string {
  return method.resumable ? prefixed("resumable", kind) : kind;
}

/** `name` in camel case with a word before it. */
function prefixed(word: string, name: string): string {
  return `${word}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** The name of the codec of a message: the file's own, or one of core's. */
function codecName({ codec }: MessageModel, names: TypeNames): string {
  return names.core(codec);
}

/** The errors of a method, as fields of a type. */
function errorFields({ errors }: MethodModel, names: TypeNames): Layout[] {
  return errors.map(({ name, code, details }) => {
    const types = [text(quoted(code))];
    const given = details === undefined ? [] : [messageType(details, "sent"), messageType(details, "received")];
    const texts = new Map(given.map((each) => [render(typeLayout(each, names)), each]));
    return annotated(`readonly ${keyText(name)}:`, generic("ErrorDescriptor", ...types, ...texts.values()), names);
  });
}

/** The errors of a method, as its descriptor has them. */
function errorsTable({ errors }: MethodModel, names: TypeNames): Layout {
  const fields = errors.map(({ name, code, details }) => {
    const parts = [
      `code: ${quoted(code)}`,
      ...(details === undefined ? [] : [`details: ${codecName(details, names)}`]),
    ];
    return [`${keyText(name)}: `, braced(parts)];
  });
  return ["errors: ", braced(fields, ",", true)];
}

/** A JSON value. */
function json(value: unknown): Layout {
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return arrayOf(value.map(json));
  return braced(Object.entries(value).map(([key, each]) => [`${keyText(key)}: `, json(each)]));
}
