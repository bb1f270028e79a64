import { weightOf } from "@quicrpc/core/internal";
import {
  arrayOf,
  assignment,
  block,
  braced,
  callOf,
  conditional,
  guard,
  indent,
  signature,
  when,
} from "../print/syntax.js";
import { keyText, property, quoted } from "../print/text.js";
import { text, type TypeNode, unionType } from "../types/node.js";
import {
  hasOwnCode,
  isCompiled,
  isLoose,
  mayBeNumber,
  present,
  presenceOf,
  scalarName,
  wrappedIn,
} from "./compiled.js";
import { MISFIT, refuseExcess, refuseMisfit, refuseSize } from "./conditions.js";
import { DEPTH, depthParameter, isDeep, refuseDepth } from "./depth.js";
import { expression, keyBytes, offset } from "./literals.js";
import { LocalNames } from "./locals.js";
import { constantOf, type FieldNode, fieldsOf, type NodeOf, type SchemaNode } from "../schema/node.js";
import { namesOf } from "./plan.js";
import { comparisons } from "./print-keys.js";
import { optionsBody, taggedBody } from "./print-union.js";
import type { CodecPrinter } from "./printer.js";

/**
 * Returns the reader function of a schema. For an object also returns the constant with its keys, unless short code was
 * requested.
 */
export function printReader(node: SchemaNode, printer: CodecPrinter): string[] {
  const codec = printer.codecOf(node);
  const type = printer.typeOf(node, "output");
  const functionOf = (head: string, body: readonly string[]): string =>
    block(signature(head, ["r: wire.Reader", "p: number", ...depthParameter(node)], printer.layout(type)), [
      ...refuseDepth(node),
      ...body,
    ]);
  const head = `${printer.exported}function ${namesOf(codec).reader}`;
  if (node.kind !== "object" || !hasOwnCode(node)) return [functionOf(head, bodyOf(node, type, printer))];
  if (printer.short || isLoose(node)) return [functionOf(head, anyOrderBody(node, type, printer))];
  const isStrict = node.others === "strict";
  const keys = arrayOf(Object.keys(node.fields).map(quoted));
  return [
    functionOf(head, orderedBody(node, type, printer)),
    assignment(
      `const ${namesOf(codec).keys}`,
      callOf("/* @__PURE__ */ new wire.Keys", [keys, ...(isStrict ? ["true"] : [])]),
    ),
  ];
}

function bodyOf(node: SchemaNode, type: TypeNode, printer: CodecPrinter): string[] {
  if (!hasOwnCode(node)) return [...read(node, "const value", "value", "p", printer), "return value;"];
  const value = (initial: string): string => `const value: ${printer.layout(type)} = ${initial};`;
  const items = (element: SchemaNode, ...add: string[]): string =>
    block("for (; left > 0; left--)", [...read(element, "const item", "item", "r.position", printer), ...add]);
  switch (node.kind) {
    case "array":
      return [
        "let left = wire.readArrayHeader(r, p);",
        ...refuseSize(node.checks, "left"),
        value("[]"),
        items(node.element, "value.push(item);"),
        "return value;",
      ];
    case "set":
      return [
        "let left = wire.readSetHeader(r, p);",
        ...refuseExcess(node.checks, "left"),
        value("new Set()"),
        ...countKeys(node.element),
        items(node.element, "value.add(item);", ...refuseCrowd(node.element, "item")),
        ...refuseSize(node.checks, "value.size"),
        "return value;",
      ];
    case "map":
      return [
        "let left = wire.readTableHeader(r, p);",
        ...refuseExcess(node.checks, "left"),
        value("new Map()"),
        ...countKeys(node.key),
        block("for (; left > 0; left--)", [
          ...read(node.key, "const key", "key", "r.position", printer),
          ...read(node.element, "const item", "item", "r.position", printer),
          "value.set(key, item);",
          ...refuseCrowd(node.key, "key"),
        ]),
        ...refuseSize(node.checks, "value.size"),
        "return value;",
      ];
    case "record":
      return [
        "let left = wire.readMapHeader(r, p);",
        value("{}"),
        "let places = 0;",
        block("for (; left > 0; left--)", [
          "const key = wire.readString(r, r.position);",
          `if (key === "__proto__") ${MISFIT}`,
          "places = wire.placesWith(key, places);",
          ...read(node.element, "const item", "item", "r.position", printer),
          "value[key] = item;",
        ]),
        "return value;",
      ];
    case "tuple":
      return [
        `if (wire.readArrayHeader(r, p) !== ${node.items.length}) ${MISFIT}`,
        ...node.items.flatMap((item, index) =>
          read(item, `const item${index + 1}`, `item${index + 1}`, "r.position", printer),
        ),
        `return [${node.items.map((_, index) => `item${index + 1}`).join(", ")}];`,
      ];
    case "discriminated":
    case "union": {
      const tag = (key: string): string => callOf("wire.readTag", ["r", "p", quoted(key), ...printer.levelsOfAny]);
      const call = (option: SchemaNode): string =>
        callOf(printer.reader(printer.codecOf(option)), ["r", "p", ...printer.levels(option)]);
      return (
        taggedBody(node, tag, call) ??
        optionsBody(node as NodeOf<"union">, "read", (option) => {
          const refused = refuseMisfit(option, "option", printer.patternName);
          if (refused.length === 0) return [`return ${readExpression(option, "p", printer)};`];
          return [readStatement(option, "const option", "p", printer), ...refused, "return option;"];
        })
      );
    }
    default:
      return [];
  }
}

/** Returns statements that create a hash collision counter, if the keys of a Map or Set may be numbers. */
function countKeys(key: SchemaNode): string[] {
  return mayBeNumber(key) ? ["const crowd = wire.keyCrowd(value, left);"] : [];
}

/**
 * Returns statements that throw the mismatch error if too many keys have colliding hashes.
 *
 * @param name variable with the key that was added last
 */
function refuseCrowd(key: SchemaNode, name: string): string[] {
  return mayBeNumber(key) ? [`if (crowd?.admits(${name}) === false) ${MISFIT}`] : [];
}

/**
 * Returns the body of an object's reader. It compares the next key, four bytes at a time, with the key of the next
 * field, because most peers send fields in order. If they differ, it looks the key up and continues at that field's
 * `case`. After the cases, `left` is always one too low.
 */
function orderedBody(node: NodeOf<"object">, type: TypeNode, printer: CodecPrinter): string[] {
  const fields = fieldsOf(node);
  const names = new LocalNames();
  const used = new Set<"bytes" | "view">();
  const cases = fields.flatMap((field, index) => fieldCase(index, field, names.of(field.name), used, printer));
  const levels = isDeep(node) ? `, ${DEPTH}` : "";
  const parts = (["bytes", "view"] as const).filter((name) => used.has(name));
  const isCounted = fields.some((field) => presenceOf(field.node) !== "required");
  return [
    ...(parts.length === 0 ? [] : [`const { ${parts.join(", ")} } = r;`]),
    ...fields.map((field) => declaration(names.of(field.name), present(field.node), printer)),
    `let left = wire.${isCounted ? "readMapHeader(r, p" : `readFieldsHeader(r, p, ${fields.length}`});`,
    "p = r.position;",
    block("for (let next = 0; ; )", [
      block("switch (next)", [...cases, "default:", "  left--;"]),
      "if (++left === 0) break;",
      `next = ${namesOf(printer.codecOf(node)).keys}.find(r, p, left${levels});`,
      "p = r.position;",
      "left = r.left;",
    ]),
    ...refuseMissing(fields, names),
    ...result(fields, names, type, printer),
  ];
}

/** Returns the `case` that reads a field if its key comes next. Otherwise an optional field falls through. */
function fieldCase(
  index: number,
  field: FieldNode,
  name: string,
  used: Set<"bytes" | "view">,
  printer: CodecPrinter,
): string[] {
  const node = present(field.node);
  const key = keyBytes(field.name);
  const reading = [...read(node, name, name, offset("p", key.length), printer), "p = r.position;"];
  if (presenceOf(field.node) !== "required") {
    const body = block(when(["left > 0", ...comparisons(key, "===", used)], "&&"), [...reading, "left--;"]);
    return [`case ${index}:`, `  ${indent(body)}`];
  }
  const body = [guard(["left-- === 0", ...comparisons(key, "!==", used)], "||", "break;"), ...reading];
  // A literal is read into a constant inside its case.
  if (isLiteral(node)) return [block(`case ${index}:`, body)];
  return [`case ${index}:`, ...body.map((statement) => `  ${indent(statement)}`)];
}

function anyOrderBody(node: NodeOf<"object">, type: TypeNode, printer: CodecPrinter): string[] {
  const fields = fieldsOf(node);
  const names = new LocalNames();
  const levels = isLoose(node) ? printer.levels(node) : printer.levelsOfAny;
  const other = isLoose(node)
    ? [
        `  if (key === "__proto__") ${MISFIT}`,
        "  places = wire.placesWith(key, places);",
        `  others[key] = wire.readAny(${["r", "r.position", ...levels].join(", ")});`,
      ]
    : [`  ${node.others === "strict" ? MISFIT : `wire.skip(${["r", "r.position", ...levels].join(", ")});`}`];
  return [
    ...(isLoose(node) ? ["const others: Record<string, unknown> = {};", "let places = 0;"] : []),
    ...fields.map((field) => declaration(names.of(field.name), present(field.node), printer)),
    block("for (let left = wire.readMapHeader(r, p); left > 0; left--)", [
      ...(isLoose(node) ? ["const key = wire.readString(r, r.position);"] : []),
      block(`switch (${isLoose(node) ? "key" : "wire.readString(r, r.position)"})`, [
        ...fields.map((field) => {
          const name = names.of(field.name);
          const body = [...read(present(field.node), name, name, "r.position", printer), "break;"];
          return block(`case ${quoted(field.name)}:`, body);
        }),
        "default:",
        ...other,
      ]),
    ]),
    ...refuseMissing(fields, names),
    ...result(fields, names, type, printer, isLoose(node) ? ["...others"] : []),
  ];
}

function refuseMissing(fields: readonly FieldNode[], names: LocalNames): string[] {
  const required = fields.filter((field) => presenceOf(field.node) === "required");
  if (required.length === 0) return [];
  const missing = required.map((field) => `${names.of(field.name)} === undefined`);
  return [guard(missing, "||", MISFIT)];
}

function declaration(name: string, node: SchemaNode, printer: CodecPrinter): string {
  return `let ${name}: ${printer.layout(unionType([localType(node, printer), text("undefined")]))};`;
}

function localType(node: SchemaNode, printer: CodecPrinter): TypeNode {
  return node.kind === "any" ? text("unknown") : printer.typeOf(node, "output");
}

function result(
  fields: readonly FieldNode[],
  names: LocalNames,
  type: TypeNode,
  printer: CodecPrinter,
  others: readonly string[] = [],
): string[] {
  const optional = fields.filter((field) => /ptional/.test(presenceOf(field.node)));
  const always = fields.filter((field) => !optional.includes(field));
  const literal = (given: readonly FieldNode[]): string =>
    braced([...given.map((field) => resultField(field, names)), ...others]);
  const [only] = optional;
  if (only === undefined) return [`return ${literal(always)};`];
  if (optional.length === 1) {
    const without = block(`if (${names.of(only.name)} === undefined)`, [`return ${literal(always)};`]);
    return [without, `return ${literal(fields)};`];
  }
  return [
    `const result: ${printer.layout(type)} = ${literal(always)};`,
    ...optional.map((field) => {
      const name = names.of(field.name);
      return `if (${name} !== undefined) ${property("result", field.name)} = ${name};`;
    }),
    "return result;",
  ];
}

function resultField({ name, node }: FieldNode, names: LocalNames): string {
  const local = names.of(name);
  const key = keyText(name);
  const constant = node.kind === "default" ? constantOf(node) : undefined;
  if (constant === undefined) return key === local ? key : `${key}: ${local}`;
  const { value } = constant;
  const instead = callOf("wire.absent", [expression(value), String(weightOf(value, Number.MAX_SAFE_INTEGER))]);
  return `${key}: ${conditional(`${local} === undefined`, instead, local)}`;
}

/**
 * Returns statements that read the value at the position `at`, assign it to `into`, and set `r.position` to the
 * position after it.
 *
 * @param name name of the variable
 */
function read(node: SchemaNode, into: string, name: string, at: string, printer: CodecPrinter): string[] {
  const target = present(node);
  if (into === name && isLiteral(target)) {
    // TypeScript narrows the type of a constant by the condition, but not that of a variable.
    return [
      readStatement(target, "const literal", at, printer),
      ...refuseMisfit(target, "literal", printer.patternName),
      `${into} = literal;`,
    ];
  }
  return [readStatement(target, into, at, printer), ...refuseMisfit(target, name, printer.patternName)];
}

function readStatement(node: SchemaNode, variable: string, at: string, printer: CodecPrinter): string {
  const isTyped = variable.startsWith("const ") && isReadByShape(node, printer);
  const into = isTyped ? `${variable}: ${printer.layout(printer.typeOf(node, "output"))}` : variable;
  return assignment(into, readExpression(node, at, printer));
}

/** Returns true if a shape reads the value. TypeScript then takes the value's type from the variable's declaration. */
function isReadByShape(node: SchemaNode, printer: CodecPrinter): boolean {
  if (printer.called(node) !== undefined) return false;
  const inner = node.kind === "refined" ? undefined : wrappedIn(node);
  return inner === undefined ? !isCompiled(node) : isReadByShape(inner, printer);
}

function isLiteral(node: SchemaNode): boolean {
  const inner = node.kind === "refined" ? undefined : wrappedIn(node);
  return inner === undefined ? node.kind === "literal" && isCompiled(node) : isLiteral(inner);
}

function readExpression(node: SchemaNode, at: string, printer: CodecPrinter): string {
  const codec = printer.called(node);
  const levels = printer.levels(node);
  if (codec !== undefined) return callOf(printer.reader(codec), ["r", at, ...levels]);
  if (!isCompiled(node)) return callOf("wire.readBy", ["r", at, printer.shape(printer.codecOf(node)), ...levels]);
  const wrapped = wrappedIn(node);
  if (wrapped === undefined) {
    const value = callOf(`wire.read${scalarName(node)}`, ["r", at, ...levels]);
    return node.kind === "template" ? `${value} as ${printer.layout(printer.typeOf(node, "output"))}` : value;
  }
  const inner = readExpression(wrapped, at, printer);
  if (node.kind === "nullable") return conditional(`r.bytes[${at}] === 0xc0`, `wire.readNil(r, ${at})`, inner);
  if (node.kind === "frozen") return callOf("wire.freeze", [inner]);
  return callOf(printer.checks(node), [callOf("wire.within", ["r", inner])]);
}
