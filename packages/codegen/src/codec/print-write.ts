import { arrayOf, assignment, block, callOf, conditional, signature } from "../print/syntax.js";
import { property, quoted } from "../print/text.js";
import { checkedBy, hasOwnCode, isCompiled, isLoose, present, presenceOf, scalarName, wrappedIn } from "./compiled.js";
import { MISFIT, refuseMisfit, refuseSize } from "./conditions.js";
import { depthParameter, refuseDepth } from "./depth.js";
import { hex, keyBytes, mapHeader, offset } from "./literals.js";
import { type FieldNode, fieldsOf, type NodeOf, type SchemaNode } from "../schema/node.js";
import { namesOf } from "./plan.js";
import { optionsBody, taggedBody } from "./print-union.js";
import type { CodecPrinter } from "./printer.js";

/**
 * Returns the writer function of a schema. For an object that allows undeclared properties, also returns a constant
 * with the names of its fields.
 */
export function printWriter(node: SchemaNode, printer: CodecPrinter): string[] {
  const name = namesOf(printer.codecOf(node)).writer;
  const parameters = ["b: Uint8Array", "p: number", `value: ${printer.givenType(node)}`, ...depthParameter(node)];
  const body = [...refuseDepth(node), ...bodyOf(node, printer)];
  const writer = block(signature(`${printer.exported}function ${name}`, parameters, "number"), body);
  if (node.kind !== "object" || !isLoose(node)) return [writer];
  const names = arrayOf(Object.keys(node.fields).map(quoted));
  return [
    writer,
    assignment(`const ${namesOf(printer.codecOf(node)).fields}`, callOf("/* @__PURE__ */ new Set", [names])),
  ];
}

function bodyOf(node: SchemaNode, printer: CodecPrinter): string[] {
  if (!hasOwnCode(node)) return [...write(node, "value", "p", printer), "return p;"];
  const items = (element: SchemaNode): string =>
    block("for (const item of value)", write(element, "item", "p", printer));
  switch (node.kind) {
    case "object":
      return objectBody(node, printer);
    case "array":
      return [
        `if (!Array.isArray(value)) ${MISFIT}`,
        ...refuseSize(node.checks, "value.length"),
        "p = wire.writeArrayHeader(b, p, value.length);",
        items(node.element),
        "return p;",
      ];
    case "set":
      return [
        requireClass("Set"),
        ...refuseSize(node.checks, "value.size"),
        "p = wire.writeArrayHeader(b, p, value.size);",
        items(node.element),
        "return p;",
      ];
    case "map":
      return [
        requireClass("Map"),
        ...refuseSize(node.checks, "value.size"),
        "p = wire.writeMapHeader(b, p, value.size);",
        block("for (const [key, item] of value)", [
          ...write(node.key, "key", "p", printer),
          ...write(node.element, "item", "p", printer),
        ]),
        "return p;",
      ];
    case "record":
      return [
        "const entries = wire.entriesOf(value);",
        "p = wire.writeMapHeader(b, p, entries.length);",
        block("for (const [key, item] of entries)", [
          "p = wire.writeString(b, p, key);",
          ...write(node.element, "item", "p", printer),
        ]),
        "return p;",
      ];
    case "tuple":
      return [
        `if (!Array.isArray(value) || value.length !== ${node.items.length}) ${MISFIT}`,
        `p = wire.writeArrayHeader(b, p, ${node.items.length});`,
        ...node.items.flatMap((item, index) => write(item, `value[${index}]`, "p", printer)),
        "return p;",
      ];
    case "discriminated":
    case "union": {
      const call = (option: SchemaNode): string =>
        callOf(printer.writer(printer.codecOf(option)), ["b", "p", "value", ...printer.levels(option)]);
      return (
        taggedBody(node, (key) => property("value", key), call) ??
        optionsBody(node as NodeOf<"union">, "write", (option) => [
          `const option = value as ${printer.layout(printer.typeOf(option, "input"))};`,
          ...refuseMisfit(option, "option", printer.patternName),
          `return ${writeExpression(option, "option", "p", printer)};`,
        ])
      );
    }
    default:
      return [];
  }
}

function objectBody(node: NodeOf<"object">, printer: CodecPrinter): string[] {
  const fields = fieldsOf(node);
  const strict = node.others === "strict";
  const lines: string[] = ["wire.requireObject(value);"];
  const isOpen = isLoose(node);
  const absentable = fields.filter((field) => presenceOf(field.node) !== "required");
  const required = fields.length - absentable.length;
  let pending: number[] = [];
  if (isOpen) {
    lines.push(`const others = wire.otherKeys(value, ${namesOf(printer.codecOf(node)).fields});`);
    lines.push(`${absentable.length === 0 ? "const" : "let"} count = ${required} + others.length;`);
  } else if (absentable.length > 0) {
    lines.push(`let count = ${required};`);
  }
  if (absentable.length === 0 && !isOpen) {
    if (printer.short) lines.push(`p = wire.writeMapHeader(b, p, ${required});`);
    else pending = mapHeader(required);
  } else {
    for (const field of absentable) lines.push(`if (${isThere(field)}) count++;`);
    lines.push("p = wire.writeMapHeader(b, p, count);");
  }
  // Undeclared keys of a strict object are detected by counting. The shape then finds their names.
  if (strict) {
    const count = absentable.length === 0 ? String(required) : "count";
    lines.push(`if (wire.countOf(value) !== ${count}) ${MISFIT}`);
  }
  for (const field of fields) {
    const value = property("value", field.name);
    const bytes = [...pending, ...keyBytes(field.name)];
    const key = printer.short ? [`p = wire.writeString(b, p, ${quoted(field.name)});`] : stores(bytes);
    const at = printer.short ? "p" : offset("p", bytes.length);
    const body = [...key, ...write(present(field.node), value, at, printer)];
    if (presenceOf(field.node) === "required") lines.push(...body);
    else lines.push(block(`if (${isThere(field)})`, body));
    pending = [];
  }
  if (isOpen) {
    const other = callOf("wire.writeAny", [
      "b",
      "p",
      "(value as Record<string, unknown>)[key]",
      ...printer.levels(node),
    ]);
    lines.push(block("for (const key of others)", ["p = wire.writeString(b, p, key);", assignment("p", other)]));
  }
  if (pending.length > 0) lines.push(...stores(pending), `p += ${pending.length};`);
  return [...lines, "return p;"];
}

function isThere({ name, node }: FieldNode): string {
  return presenceOf(node) === "exactOptional" ? `${quoted(name)} in value` : `${property("value", name)} !== undefined`;
}

function stores(bytes: readonly number[]): string[] {
  return bytes.map((byte, index) => `b[${offset("p", index)}] = ${hex(byte)};`);
}

/** Returns statements that write `value` at the position `at` and assign the position after it to `p`. */
function write(node: SchemaNode, value: string, at: string, printer: CodecPrinter): string[] {
  const target = present(node);
  return [
    ...refuseMisfit(target, value, printer.patternName),
    assignment("p", writeExpression(target, value, at, printer)),
  ];
}

function writeExpression(node: SchemaNode, value: string, at: string, printer: CodecPrinter): string {
  const codec = printer.called(node);
  const levels = printer.levels(node);
  if (codec !== undefined) return callOf(printer.writer(codec), ["b", at, value, ...levels]);
  const checked = node.kind === "refined" ? checkedExpression(node, value, at, printer) : undefined;
  if (checked !== undefined) return checked;
  if (node.kind === "refined" || !isCompiled(node)) {
    return callOf("wire.writeBy", ["b", at, value, printer.shape(printer.codecOf(node)), ...levels]);
  }
  const ifNull = (otherwise: string): string => conditional(`${value} === null`, `wire.writeNil(b, ${at})`, otherwise);
  if (node.kind === "null") return ifNull("wire.misfit()");
  const wrapped = wrappedIn(node);
  if (wrapped === undefined) return callOf(`wire.write${scalarName(node)}`, ["b", at, value, ...levels]);
  const inner = writeExpression(wrapped, value, at, printer);
  return node.kind === "nullable" ? ifNull(inner) : inner;
}

function requireClass(name: "Map" | "Set"): string {
  return `if (!(value instanceof ${name})) ${MISFIT}`;
}

/** Returns the expression that writes a value and runs its checks by zod. */
function checkedExpression(
  node: NodeOf<"refined">,
  value: string,
  at: string,
  printer: CodecPrinter,
): string | undefined {
  const how = checkedBy(node);
  if (how === undefined) return undefined;
  const inner = present(node.inner);
  const end = writeExpression(inner, value, at, printer);
  const check = printer.checks(node);
  return how === "value"
    ? callOf("wire.writeChecked", [end, callOf(check, [value])])
    : callOf("wire.writeAndRead", ["b", at, end, printer.reader(printer.codecOf(inner)), check]);
}
