// TypeScript as the usual formatters (Biome, Prettier) lay it out, where it may have to be broken into lines.
import {
  firstThatFits,
  group,
  hardLine,
  ifBroken,
  indent,
  isBroken,
  join,
  type Layout,
  line,
  moved,
  softLine,
  takesFunction,
  takingFunction,
} from "./layout.js";

/** Items between brackets: on one line, or each on its own. */
export function bracketed(open: string, items: readonly Layout[], close: string, trailing = ","): Layout {
  if (items.length === 0) return `${open}${close}`;
  return group([open, indent(softLine, join(items, [",", line])), ifBroken(trailing), softLine, close]);
}

/** Fields of an object between braces; `expanded` where each is on a line of its own also if there were room. */
export function braced(fields: readonly Layout[], separator = ",", expanded = false): Layout {
  if (fields.length === 0) return "{}";
  const content = ["{", indent(line, join(fields, [separator, line])), ifBroken(separator), line, "}"];
  return group(content, expanded || isBroken(content));
}

/** An array literal. */
export function arrayOf(items: readonly Layout[], expanded = false): Layout {
  if (items.length === 0) return "[]";
  const content = ["[", indent(softLine, join(items, [",", line])), ifBroken(","), softLine, "]"];
  return group(content, expanded || isBroken(content));
}

/** A call. Where its last argument is an object or an array, that may be broken and the call around it not. */
export function callOf(callee: string, args: readonly Layout[], lastIsLiteral = false): Layout {
  const call = printCall(callee, args, lastIsLiteral);
  return args.some(isFunction) ? takingFunction(call) : call;
}

function isFunction(layout: Layout): boolean {
  if (typeof layout === "string") return layout.startsWith("() =>");
  return "kind" in layout ? false : isFunction(layout[0] ?? "");
}

/** Whether formatters take `args` for a composition of functions, and give each a line. */
function isComposition(args: readonly Layout[]): boolean {
  return args.length > 1 && (args.some(takesFunction) || args.filter(isFunction).length > 1);
}

function printCall(callee: string, args: readonly Layout[], lastIsLiteral: boolean): Layout {
  if (args.length === 0) return `${callee}()`;
  const separated = join(args, [",", line]);
  const broken = group([`${callee}(`, indent(softLine, separated), ifBroken(","), softLine, ")"], true);
  if (isComposition(args)) return broken;
  const last = args.at(-1) ?? "";
  if (lastIsLiteral && !args.slice(0, -1).some(isBroken)) {
    const before = join(args.slice(0, -1), ", ");
    const hugged = [`${callee}(`, before, before.length > 0 ? ", " : "", opened(last), ")"];
    return isBroken(last)
      ? firstThatFits(hugged, broken)
      : firstThatFits([`${callee}(`, separated, ")"], hugged, broken);
  }
  return args.some(isBroken)
    ? broken
    : group([`${callee}(`, indent(softLine, separated), ifBroken(","), softLine, ")"]);
}

/** A literal, or a function that gives one, whose brackets are on lines of their own. */
function opened(layout: Layout): Layout {
  if (typeof layout === "string") return layout;
  if (!("kind" in layout)) return layout.map(opened);
  return layout.kind === "group" ? { ...layout, broken: true } : layout;
}

/** `left` set to `right`. */
export function assignment(left: Layout, right: Layout): Layout {
  return [left, " =", moved(right), ";"];
}

/** `left` set to what a condition decides. */
export function conditionalAssignment(left: Layout, [test, one, other]: readonly [string, Layout, Layout]): Layout {
  return [left, " =", group(indent(line, conditional(test, one, other))), ";"];
}

export function conditional(test: string, one: Layout, other: Layout): Layout {
  return group([test, indent(line, "? ", indent(one), line, ": ", indent(other))]);
}

/** `if (conditions) statement`; in braces where it takes more than a line. */
export function guard(conditions: readonly Layout[], operator: "||" | "&&", statement: string): Layout {
  const short = [`if (`, join(conditions, ` ${operator} `), `) ${statement}`];
  return firstThatFits(short, block(when(conditions, operator), [statement]));
}

/** `if (conditions)`. */
export function when(conditions: readonly Layout[], operator: "||" | "&&"): Layout {
  return ["if (", group([indent(softLine, join(conditions, [` ${operator}`, line])), softLine]), ")"];
}

/** A head and statements in braces. */
export function block(head: Layout, statements: readonly Layout[]): Layout {
  return [head, " {", indent(hardLine, join(statements, hardLine)), hardLine, "}"];
}

/** The head of a function or method: its parameters each on a line where there is no room. */
export function signature(name: string, parameters: readonly Layout[], result: Layout): Layout {
  return headed(name, parameters, ": ", result);
}

/** The type of a function, after `head`. */
export function functionType(head: string, parameters: readonly Layout[], result: Layout): Layout {
  return headed(head, parameters, " => ", result);
}

function headed(head: string, parameters: readonly Layout[], before: string, result: Layout): Layout {
  if (parameters.length === 0) return [head, "()", before, result];
  const list = [indent(softLine, join(parameters, [",", line])), ifBroken(","), softLine];
  return group([head, "(", list, ")", before, result]);
}
