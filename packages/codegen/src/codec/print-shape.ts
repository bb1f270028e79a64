import { expression, propertyName } from "./literals.js";
import type { CheckNode, CodecNode, RecordKeysNode } from "./node.js";
import { shapeName } from "./plan.js";
import type { CodecPrinter } from "./printer.js";

/** The expression that makes the shape of `node`, in the words of `@quicrpc/core/codec`; named parts by their names. */
export function shapeExpression(node: CodecNode, printer: CodecPrinter): string {
  const of = (part: CodecNode): string => shapeReference(part, printer);
  const call = (name: string, ...args: string[]): string => `wire.${name}(${args.join(", ")})`;
  const withChecks = (name: string, args: string[], checks: readonly CheckNode[]): string =>
    call(name, ...args, ...checks.map((check) => checkExpression(check, printer)));
  switch (node.kind) {
    case "string":
    case "number":
    case "bigint":
    case "date":
      return withChecks(node.kind, [], node.checks);
    case "boolean":
    case "bytes":
    case "nil":
    case "nothing":
    case "any":
    case "never":
      return call(node.kind);
    case "literal":
      return call("literal", ...node.values.map(expression));
    case "template":
      return call("template", printer.patternName(node.regex, "template"));
    case "object": {
      const fields = node.fields.map((field) => `${propertyName(field.name)}: ${of(field.node)}`);
      const others = node.others === "loose" ? ["wire.loose"] : node.others === "strict" ? ['"strict"'] : [];
      const rest = typeof node.others === "object" ? [of(node.others)] : others;
      return call("object", printer.list("{", fields, "}"), ...rest);
    }
    case "array":
    case "set":
      return withChecks(node.kind, [of(node.element)], node.checks);
    case "map":
      return withChecks("map", [of(node.key), of(node.element)], node.checks);
    case "tuple":
      return call("tuple", `[${node.items.map(of).join(", ")}]`, ...(node.rest === undefined ? [] : [of(node.rest)]));
    case "record":
      return call("record", recordKeys(node.keys, of), of(node.element));
    case "union":
      return call("union", ...node.options.map(of));
    case "discriminated": {
      const options = node.options.flatMap(({ values, node: option }) =>
        values.map((value) => `[${expression(value)}, ${of(option)}]`),
      );
      return call("discriminated", JSON.stringify(node.key), printer.list("[", options, "]"));
    }
    case "intersection":
      return call("intersection", of(node.left), of(node.right));
    case "optional":
    case "exactOptional":
    case "nullable":
    case "nonOptional":
    case "frozen":
      return call(node.kind, of(node.inner));
    case "default":
    case "prefault": {
      const value = node.value.kind === "constant" ? thunk(node.value.value) : call("defaultOf", printer.schema(node));
      return call(node.kind === "default" ? "withDefault" : "prefault", of(node.inner), value);
    }
    case "caught":
      return call("caught", of(node.inner), thunk(node.value));
    case "pipe":
      return call("pipe", of(node.from), of(node.to));
    case "refined":
      return call("refined", of(node.inner), printer.schema(node));
    case "external":
      return call("external", printer.schema(node), ...(node.bigints ? ["true"] : []));
    case "open":
      throw new Error("A schema was printed before it was known.");
  }
}

function shapeReference(node: CodecNode, printer: CodecPrinter): string {
  const codec = printer.named(node);
  if (codec === undefined) return shapeExpression(node, printer);
  if (printer.isDeclared(node)) return shapeName(codec);
  const { optin, optout } = node.schema._zod;
  const absence = optout === undefined ? [optin] : [optin, optout];
  const rest = absence.some((each) => each !== undefined)
    ? absence.map((each) => `, ${expression(each)}`).join("")
    : "";
  return `wire.lazy(() => ${shapeName(codec)}${rest})`;
}

function thunk(value: unknown): string {
  const text = expression(value);
  return `() => ${text.startsWith("{") ? `(${text})` : text}`;
}

function recordKeys(keys: RecordKeysNode, of: (node: CodecNode) => string): string {
  switch (keys.kind) {
    case "any":
      return "{}";
    case "fit":
      return `{ fit: ${of(keys.fit)} }`;
    default:
      return `{ ${keys.kind}: ${expression(keys.names)} }`;
  }
}

function checkExpression(check: CheckNode, printer: CodecPrinter): string {
  switch (check.kind) {
    case "minSize":
    case "maxSize":
    case "exactSize":
      return `wire.${check.kind}(${check.size})`;
    case "atLeast":
    case "atMost":
    case "moreThan":
    case "lessThan":
      return `wire.${check.kind}(${expression(check.bound)})`;
    case "integer":
      return "wire.integer()";
    case "multipleOf":
      return `wire.multipleOf(${expression(check.step)})`;
    case "pattern":
      return `wire.pattern(${printer.patternName(check.regex, check.format)}, ${JSON.stringify(check.format)})`;
    case "includes": {
      const position = check.position === undefined ? "" : `, ${check.position}`;
      return `wire.includes(${expression(check.part)}${position})`;
    }
    case "startsWith":
    case "endsWith":
      return `wire.${check.kind}(${expression(check.part)})`;
  }
}
