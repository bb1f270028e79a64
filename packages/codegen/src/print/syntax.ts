// Functions that print TypeScript, without a limit on line length; `wrapLines` breaks the lines. They insert line
// breaks only where common formatters keep or require them.
import { CodeLine } from "./code.js";
import { keyText, quoted } from "./text.js";

export function indent(code: string): string {
  return code.replaceAll("\n", "\n  ");
}

/** Returns items on indented lines, between a line that ends with `open` and one that starts with `close`. */
function lines(open: string, items: readonly string[], close: string, end = ""): string {
  return `${open}\n${items.map((item) => `  ${indent(item)}${end}\n`).join("")}${close}`;
}

/** Returns items in brackets. Each is on its own line if one has several lines or `expanded` is true. */
function bracketed(open: string, items: readonly string[], close: string, end: string, expanded: boolean): string {
  if (items.length === 0) return `${open.trim()}${close.trim()}`;
  return expanded || items.some(isBroken)
    ? lines(open.trim(), items, close.trim(), end)
    : `${open}${items.join(`${end} `)}${close}`;
}

function isBroken(text: string): boolean {
  return text.includes("\n");
}

export function braced(fields: readonly string[], separator = ",", expanded = false): string {
  return bracketed("{ ", fields, " }", separator, expanded);
}

export function arrayOf(items: readonly string[], expanded = false): string {
  return bracketed("[", items, "]", ",", expanded);
}

/**
 * Returns a JSON value as a TypeScript expression.
 *
 * @param of prints the values inside it
 */
export function jsonExpression(value: unknown, of: (part: unknown) => string = jsonExpression): string {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return String(value).replace("e+", "e");
  if (typeof value !== "object" || value === null) return String(value);
  if (!Array.isArray(value)) return braced(Object.entries(value).map(([key, each]) => `${keyText(key)}: ${of(each)}`));
  const items = value.map((item) => of(item));
  // Formatters put each element on its own line if there are several objects or arrays with at least two elements each.
  const isTable = (open: string): boolean =>
    items.every((item, index) => item.startsWith(open) && Object.keys(value[index] as object).length > 1);
  return arrayOf(items, items.length > 1 && (isTable("{") || isTable("[")));
}

/**
 * Matches an object or array literal, or a function that returns one. If such an argument is the last of a call,
 * formatters break the argument into lines instead of the call.
 */
export const LITERAL: RegExp = /^(?:\(\) => \(?)?[[{]/;

/**
 * Returns a call expression. Formatters put each argument on its own line if the call composes functions, or an
 * argument has several lines.
 */
export function callOf(callee: string, args: readonly string[]): string {
  const broken = args.findIndex(isBroken);
  const isHugged = broken === args.length - 1 && LITERAL.test(args[broken] ?? "");
  const isExpanded = isComposition(args) || (broken >= 0 && !isHugged);
  return isExpanded ? lines(`${callee}(`, args, ")", ",") : `${callee}(${args.join(", ")})`;
}

/**
 * Returns true if formatters treat `args` as a composition of functions: there are two functions, or a call with a
 * function and another argument.
 */
function isComposition(args: readonly string[]): boolean {
  if (args.length < 2 || !args.some((each) => each.includes("() =>"))) return false;
  return args.filter(isFunction).length > 1 || args.some(takesFunction);
}

function isFunction(text: string): boolean {
  return text.startsWith("() =>");
}

function takesFunction(text: string): boolean {
  const [open, close] = isFunction(text) ? [] : (new CodeLine(text, false).pairs.at(-1) ?? []);
  if (open === undefined || text.charAt(open) !== "(") return false;
  return new CodeLine(text.slice(open + 1, close), false).split(", ").some(isFunction);
}

export function assignment(left: string, right: string): string {
  return `${left} = ${right};`;
}

export function conditional(test: string, one: string, other: string): string {
  return `${test} ? ${one} : ${/^wire\.\w+\([^()]*\) as /.test(other) ? `(${other})` : other}`;
}

export function guard(conditions: readonly string[], operator: "||" | "&&", statement: string): string {
  return `${when(conditions, operator)} ${statement}`;
}

export function when(conditions: readonly string[], operator: "||" | "&&"): string {
  return `if (${conditions.join(` ${operator} `)})`;
}

export function block(head: string, statements: readonly string[]): string {
  return lines(`${head} {`, statements, "}");
}

export function signature(name: string, parameters: readonly string[], result: string): string {
  return `${name}(${parameters.join(", ")}): ${result}`;
}
