import { RpcError } from "@quicrpc/core";

export const MAX_PARAMETER_LENGTH = 128;
/** Maximum number of words and parameters in a topic pattern. */
const MAX_PLACES = 16;

const WORD = /^[A-Za-z0-9_-]+$/;
const PARAMETER = /^\{([A-Za-z_$][\w$]*)\}$/;
/** Name of the field that contains the published message, in the inputs and outputs of a topic's methods. */
const MESSAGE = "message";

/** One part of a topic pattern: a word, or a parameter that has a value in each topic. */
export interface PatternPlace {
  readonly word: string;
  readonly parameter: string | undefined;
}

/** Returns the parts of a topic pattern. The pattern must be valid. */
export function patternPlacesOf(pattern: string): PatternPlace[] {
  return pattern.split(".").map((word) => ({ word, parameter: PARAMETER.exec(word)?.[1] }));
}

export function checkPattern(pattern: string): void {
  const places = patternPlacesOf(pattern);
  const names = places.flatMap(({ parameter }) => parameter ?? []);
  const wrong = places.find(({ word, parameter }) => parameter === undefined && !WORD.test(word));
  if (wrong !== undefined) {
    throw new TypeError(
      `${JSON.stringify(pattern)} is not a topic pattern: between dots it needs words of letters, digits, "_" and "-", or parameters in braces, as in "room.{id}"`,
    );
  }
  if (places.length > MAX_PLACES) throw new TypeError(`the pattern ${pattern} has more than ${MAX_PLACES} places`);
  if (new Set(names).size < names.length) throw new TypeError(`the pattern ${pattern} names a parameter twice`);
  if (names.includes(MESSAGE)) {
    throw new TypeError(`the pattern ${pattern} has a parameter named "message", which is what is published`);
  }
}

/**
 * Returns the name of a topic: the service's name, a dot, and the pattern with the values of its parameters. In the
 * values, letters, digits, "_" and "-" are kept. Other bytes are written as "%" and two hexadecimal digits, so that
 * different topics have different names.
 */
export function topicName(service: string, pattern: string, values: Readonly<Record<string, unknown>>): string {
  const places = patternPlacesOf(pattern).map(({ word, parameter }) => {
    return parameter === undefined ? word : escaped(valueOf(parameter, values[parameter]));
  });
  return [service, ...places].join(".");
}

function valueOf(parameter: string, value: unknown): string {
  const isText = typeof value === "string" && value.length > 0 && value.length <= MAX_PARAMETER_LENGTH;
  // All unpaired surrogates encode to the same bytes, so different topics would have the same name.
  if (isText && !/\p{Surrogate}/u.test(value)) return value;
  throw new RpcError(
    "invalid_argument",
    `${parameter} of a topic is text of 1 to ${MAX_PARAMETER_LENGTH} characters, without single surrogates`,
  );
}

function escaped(value: string): string {
  if (WORD.test(value)) return value;
  let text = "";
  for (const byte of new TextEncoder().encode(value)) {
    const character = String.fromCharCode(byte);
    text += WORD.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
  }
  return text;
}
