import { hasOwnCode, isCompiled, present, presenceOf } from "./compiled.js";
import { anyOf, misfitConditions, sizeConditions } from "./conditions.js";
import { expression, hex, keyBytes, mapHeader, offset, property, propertyName } from "./literals.js";
import { LocalNames } from "./locals.js";
import type { CodecNode, FieldNode } from "./node.js";
import { anyOrderName, checksName, readerName, shapeName } from "./plan.js";
import type { CodecPrinter } from "./printer.js";
import { indent } from "./print-write.js";

const MISFIT = "return wire.misfit();";

/** The reader of a node that has one. */
export function printReader(node: CodecNode, printer: CodecPrinter): string {
  const codec = printer.codecOf(node);
  const type = printer.type(node, "output");
  if (!hasOwnCode(node)) {
    const body = [...readLines(node, "const value", "value", "p", printer), "return value;"];
    return functionText(readerName(codec), type, body);
  }
  if (node.kind === "object") {
    const ordered = orderedBody(node.fields, anyOrderName(codec), type, printer);
    return (
      functionText(readerName(codec), type, ordered) +
      "\n" +
      functionText(anyOrderName(codec), type, anyOrderBody(node.fields, node.others === "strict", type, printer))
    );
  }
  return functionText(readerName(codec), type, bodyOf(node, type, printer));
}

function functionText(name: string, type: string, body: readonly string[]): string {
  return `function ${name}(r: wire.Reader, p: number): ${type} {\n${body.map((line) => `  ${line}\n`).join("")}}\n`;
}

function bodyOf(node: CodecNode, type: string, printer: CodecPrinter): string[] {
  switch (node.kind) {
    case "array":
      return [
        "let left = wire.readArrayHeader(r, p);",
        ...refuse(sizeConditions(node.checks, "left")),
        `const value: ${type} = [];`,
        ...itemLoop(node.element, "value.push(item);", printer),
        "return value;",
      ];
    case "set":
      return [
        "let left = wire.readArrayHeader(r, p);",
        `const value: ${type} = new Set();`,
        ...itemLoop(node.element, "value.add(item);", printer),
        ...refuse(sizeConditions(node.checks, "value.size")),
        "return value;",
      ];
    case "map":
      return [
        "let left = wire.readMapHeader(r, p);",
        `const value: ${type} = new Map();`,
        "for (; left > 0; left--) {",
        ...indent(readLines(node.key, "const key", "key", "r.position", printer)),
        ...indent(readLines(node.element, "const item", "item", "r.position", printer)),
        "  value.set(key, item);",
        "}",
        ...refuse(sizeConditions(node.checks, "value.size")),
        "return value;",
      ];
    case "record":
      return [
        "let left = wire.readMapHeader(r, p);",
        `const value: ${type} = {};`,
        "for (; left > 0; left--) {",
        "  const key = wire.readString(r, r.position);",
        '  if (key === "__proto__") return wire.misfit();',
        ...indent(readLines(node.element, "const item", "item", "r.position", printer)),
        "  value[key] = item;",
        "}",
        "return value;",
      ];
    case "tuple":
      return [
        `if (wire.readArrayHeader(r, p) !== ${node.items.length}) ${MISFIT}`,
        ...node.items.flatMap((item, index) =>
          readLines(item, `const item${index + 1}`, `item${index + 1}`, "r.position", printer),
        ),
        `return [${node.items.map((_, index) => `item${index + 1}`).join(", ")}];`,
      ];
    case "discriminated":
      return [
        `switch (wire.readTag(r, p, ${JSON.stringify(node.key)})) {`,
        ...node.options.flatMap(({ values, node: option }) => [
          ...values.map((value) => `  case ${JSON.stringify(value)}:`),
          `    return ${readerName(printer.codecOf(option))}(r, p);`,
        ]),
        "  default:",
        `    ${MISFIT}`,
        "}",
      ];
    default:
      return [];
  }
}

function itemLoop(element: CodecNode, add: string, printer: CodecPrinter): string[] {
  return [
    "for (; left > 0; left--) {",
    ...indent([...readLines(element, "const item", "item", "r.position", printer), add]),
    "}",
  ];
}

/** Reads an object whose keys come in the order of its fields, each key compared as a few words. */
function orderedBody(fields: readonly FieldNode[], anyOrder: string, type: string, printer: CodecPrinter): string[] {
  const names = new LocalNames();
  const otherwise = `return ${anyOrder}(r, start);`;
  const absentable = fields.filter((field) => presenceOf(field.node) !== "required");
  const lines = ["const start = p;"];
  let pending: number[] = [];
  if (absentable.length === 0) {
    pending = mapHeader(fields.length);
  } else {
    lines.push("let left = wire.readMapHeader(r, p);", "p = r.position;");
  }
  for (const field of fields) {
    const name = names.of(field.name);
    const key = [...pending, ...keyBytes(field.name)];
    pending = [];
    const node = present(field.node);
    const at = offset("p", key.length);
    const presence = presenceOf(field.node);
    lines.push(`// ${JSON.stringify(field.name)}`);
    if (presence === "required") {
      lines.push(`if (${differs(key)}) ${otherwise}`);
      lines.push(...readLines(node, `const ${name}`, name, at, printer), "p = r.position;");
      if (absentable.length > 0) lines.push("left--;");
    } else {
      lines.push(`let ${name}: ${printer.type(node, "output")} | undefined;`);
      lines.push(
        `if (left > 0 && ${equals(key)}) {`,
        ...indent([...readLines(node, name, name, at, printer), "p = r.position;", "left--;"]),
        "}",
      );
    }
  }
  if (pending.length > 0) lines.push(`if (${differs(pending)}) ${otherwise}`, `r.position = p + ${pending.length};`);
  if (absentable.length > 0) lines.push(`if (left !== 0) ${otherwise}`);
  // A key that was looked for may have been passed over.
  if (absentable.length > 0) lines.push("r.position = p;");
  const used = ["bytes", "view"].filter((name) => lines.some((line) => new RegExp(`\\b${name}[[.]`).test(line)));
  return [`const { ${used.join(", ")} } = r;`, ...lines, ...resultLines(fields, names, type)];
}

function anyOrderBody(fields: readonly FieldNode[], strict: boolean, type: string, printer: CodecPrinter): string[] {
  const names = new LocalNames();
  const lines: string[] = [];
  for (const field of fields) {
    lines.push(`let ${names.of(field.name)}: ${printer.type(present(field.node), "output")} | undefined;`);
  }
  lines.push(
    "for (let left = wire.readMapHeader(r, p); left > 0; left--) {",
    "  switch (wire.readString(r, r.position)) {",
  );
  for (const field of fields) {
    const name = names.of(field.name);
    lines.push(
      `    case ${JSON.stringify(field.name)}: {`,
      ...indent(indent(indent(readLines(present(field.node), name, name, "r.position", printer)))),
      "      break;",
      "    }",
    );
  }
  lines.push("    default:", `      ${strict ? MISFIT : "r.position = wire.skip(r, r.position);"}`, "  }", "}");
  const required = fields.filter((field) => presenceOf(field.node) === "required");
  if (required.length > 0) {
    lines.push(`if (${required.map((field) => `${names.of(field.name)} === undefined`).join(" || ")}) ${MISFIT}`);
  }
  return [...lines, ...resultLines(fields, names, type)];
}

/** Makes the object of what was read. */
function resultLines(fields: readonly FieldNode[], names: LocalNames, type: string): string[] {
  const optional = fields.filter((field) => /ptional/.test(presenceOf(field.node)));
  const always = fields.filter((field) => !optional.includes(field));
  const literal = (given: readonly FieldNode[]): string =>
    given.length === 0
      ? "{}"
      : `{ ${given
          .map((field) => {
            const name = names.of(field.name);
            const { node } = field;
            const value =
              node.kind === "default" && node.value.kind === "constant"
                ? `${name} === undefined ? ${expression(node.value.value)} : ${name}`
                : name;
            const key = propertyName(field.name);
            return key === value ? key : `${key}: ${value}`;
          })
          .join(", ")} }`;
  if (optional.length === 0) return [`return ${literal(always)};`];
  const [only] = optional;
  if (only !== undefined && optional.length === 1) {
    return [`return ${names.of(only.name)} === undefined ? ${literal(always)} : ${literal(fields)};`];
  }
  return [
    `const result: ${type} = ${literal(always)};`,
    ...optional.map((field) => {
      const name = names.of(field.name);
      return `if (${name} !== undefined) ${property("result", field.name)} = ${name};`;
    }),
    "return result;",
  ];
}

/** Statements that read the value at `at` into `into`, which is called `name`, and leave the position after it in `r`. */
function readLines(node: CodecNode, into: string, name: string, at: string, printer: CodecPrinter): string[] {
  const target = present(node);
  const read = readExpression(target, at, printer);
  if (into === name && isLiteral(target)) {
    // A constant's type is narrowed by the condition, a variable's is not.
    return [
      `const literal = ${read};`,
      ...refuse(misfitConditions(target, "literal", printer.patternName)),
      `${into} = literal;`,
    ];
  }
  return [`${into} = ${read};`, ...refuse(misfitConditions(target, name, printer.patternName))];
}

function isLiteral(node: CodecNode): boolean {
  if (node.kind === "nullable" || node.kind === "frozen") return isLiteral(present(node.inner));
  return node.kind === "literal";
}

function readExpression(node: CodecNode, at: string, printer: CodecPrinter): string {
  const codec = printer.called(node);
  if (codec !== undefined) return `${readerName(codec)}(r, ${at})`;
  const type = (): string => printer.type(node, "output");
  if (!isCompiled(node)) return `wire.readBy(r, ${at}, ${shapeName(printer.codecOf(node))}) as ${type()}`;
  const by = (reader: string): string => `wire.${reader}(r, ${at})`;
  switch (node.kind) {
    case "string":
    case "literal":
      return by("readString");
    case "template":
      return `${by("readString")} as ${type()}`;
    case "number":
      return by(node.checks.some((check) => check.kind === "integer") ? "readInt" : "readNumber");
    case "bigint":
      return by("readBigInt");
    case "boolean":
      return by("readBoolean");
    case "date":
      return by("readDate");
    case "bytes":
      return by("readBytes");
    case "nil":
      return by("readNil");
    case "nullable":
      return `r.bytes[${at}] === 0xc0 ? wire.readNil(r, ${at}) : ${readExpression(present(node.inner), at, printer)}`;
    case "frozen":
      return `wire.freeze(${readExpression(present(node.inner), at, printer)})`;
    case "refined":
      return `${checksName(printer.codecOf(node))}(${readExpression(present(node.inner), at, printer)}) as ${type()}`;
    default:
      return by("readAny");
  }
}

function refuse(conditions: readonly string[]): string[] {
  return conditions.length === 0 ? [] : [`if (${anyOf(conditions)}) ${MISFIT}`];
}

/** Whether other bytes than `expected` are at `p`. */
function differs(expected: readonly number[]): string {
  return comparisons(expected, "!==").join(" || ");
}

function equals(expected: readonly number[]): string {
  return comparisons(expected, "===").join(" && ");
}

/** Four bytes at a time where there are as many; the last four may overlap those before. */
function comparisons(expected: readonly number[], operator: "===" | "!=="): string[] {
  const { length } = expected;
  const byte = (at: number): string => `bytes[${offset("p", at)}] ${operator} ${hex(expected[at] ?? 0)}`;
  const word = (at: number): string => {
    const text = expected.slice(at, at + 4).map((each) => each.toString(16).padStart(2, "0"));
    const literal = `0x${text.join("")}`;
    return `view.getInt32(${offset("p", at)}) ${operator} ${Number(literal) > 0x7fffffff ? `(${literal} | 0)` : literal}`;
  };
  const half = (at: number): string => {
    const value = ((expected[at] ?? 0) << 8) | (expected[at + 1] ?? 0);
    return `view.getUint16(${offset("p", at)}) ${operator} 0x${value.toString(16).padStart(4, "0")}`;
  };
  if (length === 1) return [byte(0)];
  if (length === 2) return [half(0)];
  if (length === 3) return [half(0), byte(2)];
  const parts: string[] = [];
  let at = 0;
  for (; at + 4 <= length; at += 4) parts.push(word(at));
  if (at + 1 === length) parts.push(byte(at));
  else if (at < length) parts.push(word(length - 4));
  return parts;
}
