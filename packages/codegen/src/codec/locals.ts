import { isIdentifier, pascalCase } from "../names.js";

/** Names that a reader uses itself, and words that are no names. */
const TAKEN: ReadonlySet<string> = new Set(
  (
    "literal r p b depth count entries wire bytes view start left value item key result undefined Date Map Set Array Object " +
    "arguments eval await break case catch class const continue debugger default delete do else enum export extends false " +
    "finally for function if implements import in instanceof interface let new null package private protected public " +
    "return static super switch this throw true try typeof var void while with yield"
  ).split(" "),
);

/** Names for the fields of an object while it is read: their own, where those can be. */
export class LocalNames {
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();

  of(field: string): string {
    const known = this.#names.get(field);
    if (known !== undefined) return known;
    const wanted = isIdentifier(field) ? field : `field${pascalCase(field)}`;
    let name = wanted.replaceAll(/\W/g, "_");
    while (TAKEN.has(name) || this.#taken.has(name)) name = `${name}_`;
    this.#taken.add(name);
    this.#names.set(field, name);
    return name;
  }
}
