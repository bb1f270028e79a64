const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const SERVICE_NAME = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;

/**
 * Names that a method must not have: names that clients or handler tables use, and those that would make an object a
 * thenable or change its prototype.
 */
const RESERVED_METHODS: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  "prototype",
  "then",
  "catch",
  "finally",
  "toJSON",
]);

/** Names of global types that generated files use, and therefore must not declare. */
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

export function isReservedWord(name: string): boolean {
  return RESERVED_WORDS.has(name);
}

export function isIdentifier(name: string): boolean {
  return IDENTIFIER.test(name);
}

/** Returns true if `name` consists of identifiers separated by dots, such as `shop.v1.Orders`. */
export function isServiceName(name: string): boolean {
  return SERVICE_NAME.test(name);
}

export function isReservedMethodName(name: string): boolean {
  return RESERVED_METHODS.has(name);
}

/** Converts `line_items` and `line-items` to `LineItems`. */
export function pascalCase(text: string): string {
  const joined = text
    .split(/[^A-Za-z0-9$]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
  return /^[0-9]/.test(joined) ? `_${joined}` : joined || "_";
}

/** Converts `Arith` to `arith`, and `HTTPProxy` to `httpProxy`. */
export function camelCase(text: string): string {
  const pascal = pascalCase(text);
  return pascal.replace(/^[A-Z]+(?=[A-Z][a-z])|^[A-Z]+$|^[A-Z]/, (head) => head.toLowerCase());
}

/** Number of names at the end of `generatedNames` that are only generated for services with topics. */
export const TOPIC_NAMES = 3;

/**
 * Returns the names of the declarations that are generated for a service, in addition to its types.
 *
 * @param prefix first part of the names
 */
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

/** Returns the name of the type of a method's errors, such as `ArithDivideError`. */
export function errorTypeName(prefix: string, method: string): string {
  return `${prefix}${pascalCase(method)}Error`;
}

/** Returns the singular of a name: `lines` to `line`, `entries` to `entry`; `data` to `dataItem`. */
export function singular(name: string): string {
  if (/[^aeiou]ies$/i.test(name)) return `${name.slice(0, -3)}y`;
  if (/(ch|sh|ss|x)es$/i.test(name)) return name.slice(0, -2);
  if (/[^su]s$/i.test(name) && !/(is|us)$/i.test(name)) return name.slice(0, -1);
  return `${name}Item`;
}

/** Assigns names that are unique in a generated file. */
export class NameScope {
  readonly #taken = new Set<string>(GLOBAL_TYPES);

  reserve(...names: readonly string[]): void {
    for (const name of names) this.#taken.add(name);
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /**
   * Reserves and returns the name `wanted` or, if that is taken, `wanted2`, `wanted3` and so on. The name followed by
   * each of `suffixes` must be free, too.
   */
  take(wanted: string, suffixes: readonly string[] = []): string {
    let name = wanted;
    for (let n = 2; [name, ...suffixes.map((suffix) => name + suffix)].some((each) => this.#taken.has(each)); n++) {
      name = `${wanted}${n}`;
    }
    this.reserve(name);
    return name;
  }
}
