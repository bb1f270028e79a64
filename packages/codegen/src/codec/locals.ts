import { isIdentifier, isReservedWord, pascalCase } from "../names.js";

/** Names of variables that generated readers use. */
const TAKEN: ReadonlySet<string> = new Set(
  "literal r p b depth wire bytes view left next value item key result undefined Date Map Set Array Object".split(" "),
);
/** Matches the names of functions and constants that the generator declares in the same file as readers. */
const BESIDE = /^(?:read|write|check|make)[A-Z_$]|(?:Pattern|Shape|Codec)\d*$/;

/** Assigns local variable names to the fields of an object that is read: the field's own name if it is free. */
export class LocalNames {
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();

  of(field: string): string {
    const known = this.#names.get(field);
    if (known !== undefined) return known;
    const wanted = isIdentifier(field) ? field : `field${pascalCase(field)}`;
    let name = wanted.replaceAll(/\W/g, "_");
    if (BESIDE.test(name)) name = `_${name}`;
    while (TAKEN.has(name) || isReservedWord(name) || this.#taken.has(name)) name = `${name}_`;
    this.#taken.add(name);
    this.#names.set(field, name);
    return name;
  }
}
