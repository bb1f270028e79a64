import { nearest } from "@quicrpc/core/internal";

export interface UnknownOption {
  readonly name: string;
  readonly message: string;
  readonly help: string;
}

/**
 * Returns the first option in `given` that is not in `known`, with the known option that the author probably meant;
 * undefined if all are known.
 */
export function unknownOption(given: object, known: readonly string[]): UnknownOption | undefined {
  const name = Object.keys(given).find((option) => !known.includes(option));
  if (name === undefined) return undefined;
  const near = nearest(name, known);
  const meant = near === undefined ? "" : `Did you mean ${near}? `;
  const all = known.length === 1 ? `The option here is ${known[0]}.` : `The options here are ${known.join(", ")}.`;
  return { name, message: `${name} is not an option.`, help: `${meant}${all}` };
}
