import { RpcError } from "../errors.js";

/** Characters of a parameter of a topic. */
export const MAX_PARAMETER_LENGTH = 128;
/** Words and parameters of a pattern. */
const MAX_PLACES = 16;

const WORD = /^[A-Za-z0-9_-]+$/;
const PARAMETER = /^\{([A-Za-z_$][\w$]*)\}$/;
/** The name that the methods of a topic have for what is published. */
const MESSAGE = "message";

/** One place of a pattern: a word, or a parameter that a topic has a value for. */
export interface PatternPlace {
  readonly word: string;
  readonly parameter: string | undefined;
}

/** The places of a pattern that was checked. */
export function placesOf(pattern: string): PatternPlace[] {
  return pattern.split(".").map((word) => ({ word, parameter: PARAMETER.exec(word)?.[1] }));
}

/** Throws `TypeError` for what is no pattern of topics. */
export function checkPattern(pattern: string): void {
  const places = placesOf(pattern);
  const names = places.flatMap(({ parameter }) => parameter ?? []);
  const wrong = places.find(({ word, parameter }) => parameter === undefined && !WORD.test(word));
  if (wrong !== undefined) {
    throw new TypeError(
      `${JSON.stringify(pattern)} is no pattern of topics: between its dots are words of letters, digits, "_" and "-", and parameters in braces, as in "room.{id}"`,
    );
  }
  if (places.length > MAX_PLACES) throw new TypeError(`the pattern ${pattern} has more than ${MAX_PLACES} places`);
  if (new Set(names).size < names.length) throw new TypeError(`the pattern ${pattern} names a parameter twice`);
  if (names.includes(MESSAGE)) {
    throw new TypeError(`the pattern ${pattern} has a parameter named "message", which is what is published`);
  }
}

/**
 * Returns the name of one topic: `service`, a dot, and the pattern with the values of its parameters. Letters, digits, "_" and "-" stand for
 * themselves there, and other bytes of a value as "%" and two digits, so that no two topics have one name.
 */
export function topicName(service: string, pattern: string, values: Readonly<Record<string, unknown>>): string {
  const places = placesOf(pattern).map(({ word, parameter }) => {
    return parameter === undefined ? word : escaped(valueOf(parameter, values[parameter]));
  });
  return [service, ...places].join(".");
}

function valueOf(parameter: string, value: unknown): string {
  const isText = typeof value === "string" && value.length > 0 && value.length <= MAX_PARAMETER_LENGTH;
  // Surrogates without their other half all have the same bytes, and topics would share a name.
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
