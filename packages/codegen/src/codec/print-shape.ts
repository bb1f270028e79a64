import { longestText } from "@quicrpc/core/internal";
import { isBlob } from "../blobs.js";
import { arrayOf, braced, callOf } from "../print/syntax.js";
import { keyText, quoted } from "../print/text.js";
import { expression } from "./literals.js";
import {
  type CheckNode,
  constantOf,
  fieldsOf,
  isFunction,
  keyOf,
  type NodeOf,
  othersOf,
  type SchemaNode,
  takesAnyKey,
  type Told,
} from "../schema/node.js";
import { codecParts, givenOf, saysLess, takenOf } from "./parts.js";
import type { CodecPrinter } from "./printer.js";

export type ShapePrinter = Pick<CodecPrinter, "patternName" | "schema" | "partShape">;

/** Returns the expression that creates the shape of a schema, with functions of `@quicrpc/core/codec`. */
export function shapeExpression(node: SchemaNode, printer: ShapePrinter): string {
  const shape = untoldExpression(node, printer);
  if (node.told === undefined) return shape;
  const tag = node.kind === "discriminated" ? [quoted(node.key)] : [];
  return callOf("wire.toldShape", [shape, messageExpression(node.told, node, printer), ...tag]);
}

function messageExpression(told: Told, node: SchemaNode, printer: ShapePrinter): string {
  if ("text" in told) return quoted(told.text);
  const schema = `() => ${printer.schema(node)}`;
  return callOf("wire.messageOf", told.check === undefined ? [schema] : [schema, String(told.check)]);
}

function untoldExpression(node: SchemaNode, printer: ShapePrinter): string {
  const of = (part: SchemaNode): string => printer.partShape(part);
  const call = (name: string, ...args: string[]): string => callOf(`wire.${name}`, args);
  const toldCheck = (check: CheckNode): string[] => {
    const condition = checkExpression(check, printer);
    if (condition === undefined || check.told === undefined) return condition === undefined ? [] : [condition];
    return [callOf("wire.told", [condition, messageExpression(check.told, node, printer)])];
  };
  switch (node.kind) {
    case "literal":
      return node.type === "nan" ? call("nan") : call("literal", ...node.values.map(expression));
    case "bytes":
      return node.view === undefined ? call("bytes") : call("typedArray", node.view);
    case "template":
      return call(
        "template",
        printer.patternName(node.regex, "template"),
        ...(longestText(node.regex) === Infinity ? [] : [String(longestText(node.regex))]),
      );
    case "object": {
      const list = fieldsOf(node).map((field) => `${keyText(field.name)}: ${of(field.node)}`);
      const others = othersOf(node);
      const plain = others === "loose" ? ["wire.loose"] : others === "strict" ? ['"strict"'] : [];
      const rest = typeof others === "object" ? [of(others)] : plain;
      return callOf("wire.object", [braced(list), ...rest]);
    }
    case "tuple": {
      const items = arrayOf(node.items.map(of));
      // A blob is sent as a tuple, but error messages call it a blob.
      if (isBlob(node.schema)) return call("tuple", items, "undefined", quoted("blob"));
      return node.rest === undefined ? callOf("wire.tuple", [items]) : call("tuple", items, of(node.rest));
    }
    case "record":
      return call("record", recordKeys(node, of), of(node.element));
    case "discriminated": {
      const options = node.options.map(([value, option]) => arrayOf([expression(value), of(option)]));
      return callOf("wire.discriminated", [quoted(node.key), arrayOf(options, options.length > 1)]);
    }
    case "default":
    case "prefault":
    case "caught": {
      const constant = constantOf(node);
      const value = constant
        ? thunk(constant.value)
        : callOf(node.kind === "caught" ? "wire.catchOf" : "wire.defaultOf", [printer.schema(node)]);
      const name = node.kind === "default" ? "wire.withDefault" : `wire.${node.kind}`;
      return callOf(name, [of(node.inner), value]);
    }
    case "pipe":
      // A preprocess function often returns valid values unchanged, so it should receive them in their original form.
      if (isFunction(node.from) && saysLess(node.to))
        return call("preprocessed", printer.schema(node.from), of(node.to));
      break;
    case "refined": {
      const done = node.inner.schema === node.schema && "checks" in node.inner ? node.inner.checks.length : 0;
      return call("refined", of(node.inner), printer.schema(node), ...(done > 0 ? [`${done}`] : []));
    }
    case "external": {
      const given = givenOf(node);
      const taken = takenOf(node);
      const args = [printer.schema(node), given && of(given), taken && quoted(taken)];
      return call("external", ...args.filter((each) => each !== undefined));
    }
    case "custom":
    case "transform":
    case "other":
    case "success":
    case "open":
      throw new Error(`A schema of kind ${node.kind} has no shape.`);
    default:
  }
  const checks = "checks" in node ? node.checks : [];
  return call(NAMES[node.kind] ?? node.kind, ...codecParts(node).map(of), ...checks.flatMap(toldCheck));
}

/** Names of shape functions that differ from the kind of schema. */
const NAMES: Readonly<Record<string, string>> = { null: "nil", undefined: "nothing" };

/** Returns the arguments of `wire.lazy` and `wire.later` that state whether the shape accepts an absent value. */
export function absenceOf({ optin, optout }: SchemaNode): string[] {
  const absence = optout === undefined ? [optin] : [optin, optout];
  return absence.some((each) => each !== undefined) ? absence.map(expression) : [];
}

function thunk(value: unknown): string {
  if (Array.isArray(value) && value.length > 0) return `() => ${arrayOf(value.map(expression))}`;
  const text = expression(value);
  if (!text.startsWith("{ ")) return `() => ${text === "{}" ? "({})" : text}`;
  const fields = Object.entries(value as object).map(([key, each]) => `${keyText(key)}: ${expression(each)}`);
  return `() => (${braced(fields)})`;
}

function recordKeys(node: NodeOf<"record">, of: (node: SchemaNode) => string): string {
  const { exactly, among } = node.keys;
  if (takesAnyKey(node)) return "{}";
  const names = exactly ?? among;
  if (names === undefined) return braced([`fit: ${of(keyOf(node))}`]);
  return braced([`${exactly === undefined ? "among" : "exactly"}: ${arrayOf(names.map(expression))}`]);
}

function checkExpression(check: CheckNode, printer: ShapePrinter): string | undefined {
  if (check.kind === "pattern")
    return `wire.pattern(${printer.patternName(check.regex, check.format)}, ${quoted(check.format)})`;
  if (["format", "overwrite", "property", "custom"].includes(check.kind)) return undefined;
  const { size, bound, least, most, step, part, position } = check as Readonly<Record<string, unknown>>;
  const args = [size, bound, least, most, step, part, position].filter((each) => each !== undefined);
  const condition = `wire.${check.kind}(${args.map(expression).join(", ")})`;
  return check.opaque === true ? callOf("wire.aborting", [condition]) : condition;
}
