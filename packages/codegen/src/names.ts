const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const SERVICE_NAME = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;

/** Names that a client or a table of handlers has already, or that make an object a thenable or poison it. */
const RESERVED_METHODS: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  "prototype",
  "then",
  "catch",
  "finally",
  "toJSON",
]);

/** Global types that generated files use by name, so no declaration of theirs may shadow them. */
export const GLOBAL_TYPES: readonly string[] = (
  "Array ReadonlyArray Record Partial Readonly Exclude NonNullable Map ReadonlyMap Set ReadonlySet Date Promise " +
  "Uint8Array Object String Number Boolean Symbol"
).split(" ");

const RESERVED_WORDS: ReadonlySet<string> = new Set(
  (
    "arguments eval await break case catch class const continue debugger default delete do else enum export extends false " +
    "finally for function if implements import in instanceof interface let new null package private protected public " +
    "return static super switch this throw true try typeof var void while with yield"
  ).split(" "),
);

/** Whether `name` cannot be that of a variable, though it looks like one. */
export function isReservedWord(name: string): boolean {
  return RESERVED_WORDS.has(name);
}

export function isIdentifier(name: string): boolean {
  return IDENTIFIER.test(name);
}

/** Whether `name` is dotted identifiers, as in `shop.v1.Orders`. */
export function isServiceName(name: string): boolean {
  return SERVICE_NAME.test(name);
}

export function isReservedMethodName(name: string): boolean {
  return RESERVED_METHODS.has(name);
}

/** `line_items` and `line-items` to `LineItems`. */
export function pascalCase(text: string): string {
  const joined = text
    .split(/[^A-Za-z0-9$]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
  return /^[0-9]/.test(joined) ? `_${joined}` : joined || "_";
}

/** `Arith` to `arith`, `HTTPProxy` to `httpProxy`. */
export function camelCase(text: string): string {
  const pascal = pascalCase(text);
  return pascal.replace(/^[A-Z]+(?=[A-Z][a-z])|^[A-Z]+$|^[A-Z]/, (head) => head.toLowerCase());
}

/** So many of those names, the last, are printed for services with topics only. */
export const TOPIC_NAMES = 3;

/** The names that are printed for a service, besides its types, by what its names start with. */
export function generatedNames(prefix: string): string[] {
  const camel = camelCase(prefix);
  return [
    `${camel}Service`,
    `${camel}Methods`,
    `${prefix}Handlers`,
    `create${prefix}Router`,
    `${prefix}Client`,
    `create${prefix}Client`,
    `${prefix}Topics`,
    `${prefix}TopicsOptions`,
    `create${prefix}Topics`,
  ];
}

/** Returns the name of the type of a method's errors, as in `ArithDivideError`. */
export function errorTypeName(prefix: string, method: string): string {
  return `${prefix}${pascalCase(method)}Error`;
}

/** The name for one of `name`: `lines` to `line`, `entries` to `entry`; `data` to `dataItem`. */
export function singular(name: string): string {
  if (/[^aeiou]ies$/i.test(name)) return `${name.slice(0, -3)}y`;
  if (/(ch|sh|ss|x)es$/i.test(name)) return name.slice(0, -2);
  if (/[^su]s$/i.test(name) && !/(is|us)$/i.test(name)) return name.slice(0, -1);
  return `${name}Item`;
}

/** Hands out names that are unique in one generated file. */
export class NameScope {
  readonly #taken = new Set<string>(GLOBAL_TYPES);

  /** Takes `names` for the generator's own use. */
  reserve(...names: readonly string[]): void {
    for (const name of names) this.#taken.add(name);
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /** Takes `wanted`, or `wanted2`, `wanted3` … when it is taken; `suffixes` must be free after it too. */
  take(wanted: string, suffixes: readonly string[] = []): string {
    let name = wanted;
    for (let n = 2; [name, ...suffixes.map((suffix) => name + suffix)].some((each) => this.#taken.has(each)); n++) {
      name = `${wanted}${n}`;
    }
    this.reserve(name);
    return name;
  }
}
