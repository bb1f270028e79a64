import type { MessageModel, MethodModel, ServiceModel } from "../model.js";
import { camelCase } from "../names.js";
import { formatFingerprint } from "../shape/fingerprint.js";
import { generic, text, type TypeNames, type TypeNode } from "../types/node.js";
import { assignment, braced, callOf, jsonExpression } from "./syntax.js";
import { keyText, quoted } from "./text.js";
import { toolingName } from "./tooling.js";
import { jsDoc } from "./writer.js";

/**
 * Selects the type of a message: the one that the sender passes ("sent"), or the one that the receiver gets
 * ("received").
 */
export type MessageSide = "sent" | "received";

export function messageType(message: MessageModel | undefined, side: MessageSide): TypeNode {
  return message?.[side] ?? text("void");
}

/** Returns the name of the constant with a service's method descriptors. */
export function tableName({ prefix }: ServiceModel): string {
  return `${camelCase(prefix)}Methods`;
}

/** Returns the constant with a service's name and id, and the function that loads its description for tools. */
export function printIdentity(
  { prefix, name, id }: ServiceModel,
  names: TypeNames,
  tooling: string | undefined,
): string {
  const constant = `const ${camelCase(prefix)}Service`;
  const fields = [`name: ${quoted(name)}`, `id: ${id}`];
  if (tooling === undefined) return `${constant} = ${braced(fields)} as const;\n`;
  const load = `tooling: () => import(${quoted(tooling)}).then((tooling) => tooling.${toolingName(prefix)})`;
  return `${assignment(`${constant}: ${names.core("ServiceIdentity")}`, braced([...fields, load], ",", true))}\n`;
}

/**
 * Returns the descriptors of a service's methods.
 *
 * @param foreign true if calls are made without sessions, so that bundles need no code for sessions
 */
export function printDescriptors(service: ServiceModel, names: TypeNames, foreign: boolean): string {
  const { name, prefix, methods } = service;
  const identity = `${camelCase(prefix)}Service`;
  const types = methods.map((method) => `readonly ${method.name}: ${descriptorType(method, names)}`);
  const values = methods.map((method) => `${method.name}: ${descriptor(method, identity, names, foreign)}`);
  const head = `export const ${tableName(service)}: ${braced(types, ";", true)}`;
  const comment = jsDoc(`Descriptors of the methods of ${name}, for tools and for calls made by hand.`);
  return `${comment}${assignment(head, braced(values, ",", true))}\n`;
}

function descriptorType(method: MethodModel, names: TypeNames): string {
  const { input, output, errors } = method;
  const types: TypeNode[] = [
    text(`"${method.kind}"`),
    messageType(input, "sent"),
    // The handler of a method without input is called with undefined.
    input === undefined ? text("undefined") : messageType(input, "received"),
    messageType(output, "sent"),
    messageType(output, "received"),
  ];
  const args = types.map((each) => each.print(names));
  if (errors.length > 0) args.push(braced(errorFields(method, names), ";"));
  return `${names.core("MethodDescriptor")}<${args.join(", ")}>`;
}

function descriptor(method: MethodModel, identity: string, names: TypeNames, foreign: boolean): string {
  // Only calls with a session can continue on another one.
  const extension = method.once ? "onceCalls" : method.resumable && !foreign ? "resumableCalls" : undefined;
  const options = [
    `id: ${method.id}`,
    ...(method.input === undefined ? [] : [`input: ${codecName(method.input, names)}`]),
    ...(method.output === undefined ? [] : [`output: ${codecName(method.output, names)}`]),
    ...(method.readOnly ? ["readOnly: true"] : method.idempotent ? ["idempotent: true"] : []),
    ...(extension === undefined ? [] : [`extension: ${names.core(extension)}`]),
    ...(method.blobs === undefined
      ? []
      : [`blobs: ${callOf(names.core("blobCalls"), [jsonExpression(method.blobs)])}`]),
    ...(method.priority === undefined ? [] : [`priority: ${method.priority}`]),
    ...(method.delivery === undefined ? [] : [`delivery: ${quoted(method.delivery)}`]),
    ...(method.via === undefined ? [] : [`via: ${quoted(method.via)}`]),
    ...(method.cursor === undefined ? [] : [`cursor: ${jsonExpression(method.cursor)}`]),
    ...(method.errors.length === 0 ? [] : [errorsTable(method, names)]),
    ...(method.meta === undefined ? [] : [`meta: ${jsonExpression(method.meta)}`]),
    `fingerprint: 0x${formatFingerprint(method.fingerprint)}`,
  ];
  const kind = method.cursor === undefined ? camelCase(method.kind) : "cursorStream";
  const calling = foreign ? prefixed("foreign", kind) : (method.delivery ?? kind);
  const first = [identity, names.core(`${calling}Calls`), quoted(method.name)];
  return callOf(names.core("describeMethod"), [...first, braced(options, ",", options.length > 2)]);
}

function prefixed(word: string, name: string): string {
  return `${word}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

function codecName({ codec }: MessageModel, names: TypeNames): string {
  return names.core(codec);
}

/** Returns the fields of a type that maps a method's error names to their details. */
function errorFields({ errors }: MethodModel, names: TypeNames): string[] {
  return errors.map(({ name, code, details }) => {
    const types = [text(quoted(code))];
    const given = details === undefined ? [] : [messageType(details, "sent"), messageType(details, "received")];
    const texts = new Map(given.map((each) => [each.print(names), each]));
    return `readonly ${keyText(name)}: ${generic("ErrorDescriptor", ...types, ...texts.values()).print(names)}`;
  });
}

function errorsTable({ errors }: MethodModel, names: TypeNames): string {
  const fields = errors.map(({ name, code, details }) => {
    const parts = [
      `code: ${quoted(code)}`,
      ...(details === undefined ? [] : [`details: ${codecName(details, names)}`]),
    ];
    return `${keyText(name)}: ${braced(parts)}`;
  });
  return `errors: ${braced(fields, ",", true)}`;
}
