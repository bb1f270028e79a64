import { hasOwnCode, isCompiled, present, presenceOf } from "./compiled.js";
import { anyOf, misfitConditions, sizeConditions } from "./conditions.js";
import { hex, keyBytes, mapHeader, offset, property } from "./literals.js";
import type { CodecNode, FieldNode } from "./node.js";
import { shapeName, writerName } from "./plan.js";
import type { CodecPrinter } from "./printer.js";

const MISFIT = "return wire.misfit();";

/** The writer of a node that has one. */
export function printWriter(node: CodecNode, printer: CodecPrinter): string {
  const { name } = printer.codecOf(node);
  const type = printer.givenType(node);
  return [
    `function ${writerName({ name })}(b: Uint8Array, p: number, value: ${type}): number {\n`,
    ...bodyOf(node, printer).map((line) => `  ${line}\n`),
    "}\n",
  ].join("");
}

function bodyOf(node: CodecNode, printer: CodecPrinter): string[] {
  if (!hasOwnCode(node)) return [...writeLines(node, "value", "p", printer), "return p;"];
  switch (node.kind) {
    case "object":
      return objectBody(node.fields, node.others === "strict", printer);
    case "array":
      return arrayBody(node.element, sizeConditions(node.checks, "value.length"), printer);
    case "set":
      return [
        ...requireClass("Set"),
        ...refuse(sizeConditions(node.checks, "value.size")),
        "p = wire.writeArrayHeader(b, p, value.size);",
        "for (const item of value) {",
        ...indent(writeLines(node.element, "item", "p", printer)),
        "}",
        "return p;",
      ];
    case "map":
      return [
        ...requireClass("Map"),
        ...refuse(sizeConditions(node.checks, "value.size")),
        "p = wire.writeMapHeader(b, p, value.size);",
        "for (const [key, item] of value) {",
        ...indent(writeLines(node.key, "key", "p", printer)),
        ...indent(writeLines(node.element, "item", "p", printer)),
        "}",
        "return p;",
      ];
    case "record":
      return [
        "const entries = wire.entriesOf(value);",
        "p = wire.writeMapHeader(b, p, entries.length);",
        "for (const [key, item] of entries) {",
        "  p = wire.writeString(b, p, key);",
        ...indent(writeLines(node.element, "item", "p", printer)),
        "}",
        "return p;",
      ];
    case "tuple":
      return [
        `if (!Array.isArray(value) || value.length !== ${node.items.length}) ${MISFIT}`,
        `p = wire.writeArrayHeader(b, p, ${node.items.length});`,
        ...node.items.flatMap((item, index) => writeLines(item, `value[${index}]`, "p", printer)),
        "return p;",
      ];
    case "discriminated":
      return [
        `switch (${property("value", node.key)}) {`,
        ...node.options.flatMap(({ values, node: option }) => [
          ...values.map((value) => `  case ${JSON.stringify(value)}:`),
          `    return ${writerName(printer.codecOf(option))}(b, p, value);`,
        ]),
        "  default:",
        `    ${MISFIT}`,
        "}",
      ];
    default:
      return [];
  }
}

function arrayBody(element: CodecNode, conditions: readonly string[], printer: CodecPrinter): string[] {
  return [
    `if (!Array.isArray(value)) ${MISFIT}`,
    ...refuse(conditions),
    "p = wire.writeArrayHeader(b, p, value.length);",
    "for (const item of value) {",
    ...indent(writeLines(element, "item", "p", printer)),
    "}",
    "return p;",
  ];
}

function objectBody(fields: readonly FieldNode[], strict: boolean, printer: CodecPrinter): string[] {
  const lines = ["wire.requireObject(value);"];
  const absentable = fields.filter((field) => presenceOf(field.node) !== "required");
  const required = fields.length - absentable.length;
  let pending: number[] = [];
  if (absentable.length === 0) {
    pending = mapHeader(required);
  } else {
    lines.push(`let count = ${required};`);
    for (const field of absentable) lines.push(`if (${isThere(field)}) count++;`);
    lines.push("p = wire.writeMapHeader(b, p, count);");
  }
  // What a strict object refuses is found by counting: the slow path says what it is.
  if (strict) {
    const count = absentable.length === 0 ? String(required) : "count";
    lines.push(`if (wire.countOf(value) !== ${count}) ${MISFIT}`);
  }
  for (const field of fields) {
    const value = property("value", field.name);
    const bytes = [...pending, ...keyBytes(field.name)];
    const write = [
      `// ${JSON.stringify(field.name)}`,
      ...storeLines(bytes),
      ...writeLines(present(field.node), value, offset("p", bytes.length), printer),
    ];
    if (presenceOf(field.node) === "required") lines.push(...write);
    else lines.push(`if (${isThere(field)}) {`, ...indent(write), "}");
    pending = [];
  }
  if (pending.length > 0) lines.push(...storeLines(pending), `p += ${pending.length};`);
  return [...lines, "return p;"];
}

function isThere({ name, node }: FieldNode): string {
  return presenceOf(node) === "exactOptional"
    ? `${JSON.stringify(name)} in value`
    : `${property("value", name)} !== undefined`;
}

function storeLines(bytes: readonly number[]): string[] {
  const lines: string[] = [];
  for (let i = 0; i < bytes.length; i += 6) {
    const chunk = bytes.slice(i, i + 6);
    lines.push(chunk.map((byte, j) => `b[${offset("p", i + j)}] = ${hex(byte)};`).join(" "));
  }
  return lines;
}

/** Statements that write `value` at `at` and leave `p` after it. */
function writeLines(node: CodecNode, value: string, at: string, printer: CodecPrinter): string[] {
  const target = present(node);
  return [
    ...refuse(misfitConditions(target, value, printer.patternName)),
    `p = ${writeExpression(target, value, at, printer)};`,
  ];
}

function writeExpression(node: CodecNode, value: string, at: string, printer: CodecPrinter): string {
  const codec = printer.called(node);
  if (codec !== undefined) return `${writerName(codec)}(b, ${at}, ${value})`;
  if (node.kind === "refined" || !isCompiled(node)) {
    return `wire.writeBy(b, ${at}, ${value}, ${shapeName(printer.codecOf(node))})`;
  }
  const by = (writer: string): string => `wire.${writer}(b, ${at}, ${value})`;
  switch (node.kind) {
    case "string":
    case "literal":
    case "template":
      return by("writeString");
    case "number":
      return by(node.checks.some((check) => check.kind === "integer") ? "writeInt" : "writeNumber");
    case "bigint":
      return by("writeBigInt");
    case "boolean":
      return by("writeBoolean");
    case "date":
      return by("writeDate");
    case "bytes":
      return by("writeBytes");
    case "nil":
      return `${value} === null ? wire.writeNil(b, ${at}) : wire.misfit()`;
    case "nullable":
      return `${value} === null ? wire.writeNil(b, ${at}) : ${writeExpression(present(node.inner), value, at, printer)}`;
    case "frozen":
      return writeExpression(present(node.inner), value, at, printer);
    default:
      return by("writeAny");
  }
}

function requireClass(name: "Map" | "Set"): string[] {
  return [`if (!(value instanceof ${name})) ${MISFIT}`];
}

function refuse(conditions: readonly string[]): string[] {
  return conditions.length === 0 ? [] : [`if (${anyOf(conditions)}) ${MISFIT}`];
}

export function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
