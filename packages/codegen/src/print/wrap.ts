import { CodeLine, type Pair } from "./code.js";
import { LITERAL } from "./syntax.js";

/** Maximum columns of a line in generated files; a single string, pattern or name may be longer. */
export const MAX_WIDTH: number = 120;

/** Breaks long lines of generated code where Biome and Prettier break them. */
export function wrapLines(text: string): string {
  return text
    .split("\n")
    .map((line) => {
      const code = line.trimStart();
      if (line.length <= MAX_WIDTH || /^(?:\*|\/[*/])/.test(code)) return line;
      const indent = line.length - code.length;
      return line.slice(0, indent) + wrap(new CodeLine(code, TYPE.test(code)), { indent, column: indent, after: 0 });
    })
    .join("\n");
}

/** Matches lines that contain types: declarations, heads of functions, and members of interfaces. */
const TYPE =
  /^(?:export )?(?:type(?! \{)|function)\b|^(?:let|readonly) |^(?:[^\s"'(]+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[key: string\])\??: .*;$|^\w+\(.*\): .*;$/;

/** The position of a piece of code on its line, in columns. */
interface Place {
  readonly indent: number;
  /** Number of characters before the code on its first line. */
  readonly column: number;
  /** Number of characters after the code on its last line. */
  readonly after: number;
}

function wrap(code: CodeLine, place: Place): string {
  const { text } = code;
  if (place.column + text.length + place.after <= MAX_WIDTH) return text;
  if (text.startsWith("if (")) return wrapIf(code, place);
  const end = /[;,]$/.exec(text)?.[0] ?? "";
  if (end !== "") return wrap(code.part(text.slice(0, -1)), { ...place, after: place.after + 1 }) + end;
  const [left = "", ...right] = code.split(" = ");
  if (right.length > 0) return wrapAssignment(left, right.join(" = "), place);
  const parameters = parametersOf(code);
  if (parameters !== undefined) return wrapPair(code, parameters, place);
  const field = /^(?:let |const |readonly )?(?:"(?:[^"\\]|\\.)*"|[^\s(<[{"]*)\??:(?= )|^\[[^\]]*\]:(?= )/.exec(
    text,
  )?.[0];
  if (field !== undefined) return wrapField(code, field, place);
  if (isChoice(code)) return wrapChoice(code, place);
  const [value = "", type] = assertionIn(code);
  if (type !== undefined) return wrapAssertion(value, type, place);
  const [head = "", result] = code.split(" => ");
  if (result !== undefined && !/^[([{]/.test(result)) return `${head} =>${below("", code.part(result), place)}`;
  if (isUnion(code)) return wrapUnion(code, { ...place, indent: place.indent - 2 }).trimStart();
  const operator = [" ||", " &&", " &"].find((each) => code.part(operands(text)).split(`${each} `).length > 1);
  if (operator !== undefined) {
    const [first = "", ...others] = code.part(operands(text)).split(`${operator} `);
    const lines = others.map((each) => `${operator}${below("", code.part(each), place)}`).join("");
    return text.startsWith("(") ? `(${first}${lines})` : `${first}${lines}`;
  }
  const fitting = code.pairs.filter(([open]) => place.column + open < MAX_WIDTH);
  const pair = fitting.at(-1) ?? code.pairs[0];
  return pair === undefined ? text : wrapPair(code, pair, place);
}

function operands(text: string): string {
  return text.replace(/^\((.*)\)$/, "$1");
}

function isChoice(code: CodeLine): boolean {
  return code.split(" ? ").length > 1;
}

function wrapChoice(code: CodeLine, place: Place): string {
  const [test = "", ...choices] = code.split(" ? ");
  const [one = "", ...others] = code.part(choices.join(" ? ")).split(" : ");
  const other = code.part(others.join(" : "));
  const indent = place.indent + 2;
  const last = isChoice(other)
    ? `\n${" ".repeat(indent)}: ${wrapChoice(other, { ...place, indent, column: indent })}`
    : below(": ", other, place);
  return `${test}${below("? ", code.part(one), place)}${last}`;
}

function below(mark: string, code: CodeLine, { indent, after }: Place): string {
  const column = indent + 2 + mark.length;
  return `\n${" ".repeat(indent + 2)}${mark}${wrap(code, { indent: column, column, after })}`;
}

function wrapIf(code: CodeLine, place: Place): string {
  const [open, close] = code.pairs[0] ?? [0, 0];
  const conditions = code.text.slice(open + 1, close);
  const statement = code.text.slice(close + 2);
  const { indent } = place;
  if (statement !== "{") {
    const head = wrap(code.part(`if (${conditions}) {`), { ...place, after: 0 });
    return `${head}${below("", code.part(statement), place)}\n${" ".repeat(indent)}}`;
  }
  const inner = code.part(conditions);
  const operator = inner.split(" || ").length > 1 ? " ||" : " &&";
  const lines = inner.split(`${operator} `).map((each) => below("", code.part(each), place));
  return `if (${lines.join(operator)}\n${" ".repeat(indent)}) {`;
}

function wrapAssignment(left: string, right: string, place: Place): string {
  const value = new CodeLine(right, /^(?:export )?type /.test(left));
  const head = `${left} =`;
  if (value.isType && isUnion(value)) return head + wrapUnion(value, place);
  if (!value.isType && isChoice(value)) return head + below("", value, place);
  const [asserted = "", type] = assertionIn(value);
  if (type !== undefined && isUnion(type)) return `${head} ${wrapAssertion(asserted, type, place)}`;
  const fits = (text: string): boolean => place.column + text.length <= MAX_WIDTH;
  const isName = value.isType && /^\w+$/.test(right);
  const start = `${head} ${value.text.slice(0, (value.pairs[0]?.[0] ?? right.length) + 1)}`;
  if (!isName && fits(start)) return `${head} ${wrap(value, { ...place, column: place.column + head.length + 1 })}`;
  if (hasNestedArguments(left) || !fits(head)) {
    const declared = wrap(new CodeLine(left, true), { ...place, after: start.length - left.length });
    const last = declared.includes("\n")
      ? declared.length - declared.lastIndexOf("\n") - 1
      : place.column + declared.length;
    return `${declared} = ${wrap(value, { ...place, column: last + 3 })}`;
  }
  return head + below("", value, place);
}

/**
 * Returns true if a type argument in a declaration has type arguments itself. The text after it then stays on the same
 * line.
 */
function hasNestedArguments(declaration: string): boolean {
  const { pairs, text } = new CodeLine(declaration, true);
  const [open, close] = pairs.at(-1) ?? [0, 0];
  if (text.charAt(open) !== "<") return false;
  const items = new CodeLine(text.slice(open + 1, close), true).split(", ");
  return items.length > 1 && items.some((each) => /^[\w.]+<.*>$/.test(each));
}

function wrapField(code: CodeLine, head: string, place: Place): string {
  const value = code.part(code.text.slice(head.length + 1));
  if (isUnion(value)) return head + wrapUnion(value, place);
  // After a short key, moving the value to the next line saves no space.
  const isWhole = !code.isType && value.pairs.length === 0 && head.length > 5;
  if (isWhole || isChoice(value)) return head + below("", value, place);
  return `${head} ${wrap(value, { ...place, column: place.column + head.length + 1 })}`;
}

function assertionIn(code: CodeLine): [value?: string, type?: CodeLine] {
  const [value = "", type] = code.split(" as ");
  return type === undefined ? [] : [value, new CodeLine(type, true)];
}

function wrapAssertion(value: string, type: CodeLine, place: Place): string {
  const head = `${value} as`;
  if (isUnion(type)) return head + wrapUnion(type, place);
  return `${head} ${wrap(type, { ...place, column: place.column + head.length + 1 })}`;
}

function isUnion(code: CodeLine): boolean {
  const options = code.split(" | ");
  return options.length > 1 && !isNullable(options);
}

/** Returns true if `options` are a name and null: formatters keep such a union on one line. */
function isNullable(options: readonly string[]): boolean {
  const [name = "", ...others] = options.filter((each) => each !== "null");
  return options.length === 2 && others.length === 0 && /^(?:\w+\.|[A-Z])\w*(?:<.*>)?$/.test(name);
}

function wrapUnion(code: CodeLine, place: Place): string {
  const options = code.split(" | ");
  return options
    .map((option, index) => {
      const after = index === options.length - 1 ? place.after : 0;
      return below("| ", code.part(option), { ...place, after });
    })
    .join("");
}

/** Returns the brackets around a function's parameters, which formatters break before its result type. */
function parametersOf({ text, pairs }: CodeLine): Pair | undefined {
  const pair = pairs.find(([open]) => text.charAt(open) === "(");
  if (pair === undefined) return undefined;
  const [open, close] = pair;
  return /^\w+\??: /.test(text.slice(open + 1)) && /^(?:: | => )/.test(text.slice(close + 1)) ? pair : undefined;
}

/** Breaks `code` after the opening bracket of `pair`, between its items and before the closing bracket. */
function wrapPair(code: CodeLine, [open, close]: Pair, place: Place): string {
  const { text } = code;
  const head = text.slice(0, open + 1);
  const bracket = text.charAt(open);
  const inner = code.part(text.slice(open + 1, close).trim());
  const separator = bracket === "{" && code.isType ? ";" : ",";
  const items = inner.split(`${separator} `);
  const tail = code.part(text.slice(close + 1));
  const { indent } = place;
  const rest = `${text.charAt(close)}${wrap(tail, { indent, column: indent + 1, after: place.after })}`;
  const last = items.at(-1) ?? "";
  if (bracket === "(" && LITERAL.test(last)) {
    const literal = code.part(last);
    const [start = 0, end = 0] = literal.pairs.at(-1) ?? [];
    const before = [...items.slice(0, -1), last.slice(0, start + 1)].join(", ");
    const isWhole = /^[)]?$/.test(last.slice(end + 1));
    if (isWhole && place.column + head.length + before.length <= MAX_WIDTH) {
      const broken = wrapPair(literal, [start, end], { indent, column: indent, after: 0 });
      return `${head}${[...items.slice(0, -1), broken].join(", ")}${rest}`;
    }
  }
  const isGroup = bracket === "(" && !/[\w>]$/.test(text.slice(0, open));
  if (isGroup && isUnion(inner))
    return `${head}${wrapUnion(inner, { ...place, after: 0 })}\n${" ".repeat(indent)}${rest}`;
  const end = isGroup || bracket === "<" ? "" : separator;
  const lines = items.map((item, index) => {
    const after = index === items.length - 1 ? end.length : 1;
    return below("", code.part(item), { indent, column: 0, after });
  });
  return `${head}${lines.join(separator)}${end}\n${" ".repeat(indent)}${rest}`;
}
