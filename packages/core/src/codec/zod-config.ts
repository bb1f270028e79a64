import { WireMap } from "../msgpack/value.js";
import type { ShapeIssue } from "./shape.js";

/**
 * An error map, as configured with zod's `z.config`: returns the message of an issue, or undefined to leave it to the
 * next error map.
 */
export type MakeMessage = (issue: object) => unknown;

interface ZodConfig {
  readonly customError?: MakeMessage;
  readonly localeError?: MakeMessage;
}

/** Returns the settings of `z.config`, which all copies of zod share. They are empty if zod is not loaded. */
export function zodConfig(): ZodConfig {
  return (globalThis as { __zod_globalConfig?: ZodConfig }).__zod_globalConfig ?? {};
}

/** Returns the text of the first function in `makers` that returns one for `issue`; undefined if none does. */
export function firstText(makers: readonly (MakeMessage | undefined)[], issue: object): string | undefined {
  for (const make of makers) {
    const text = textOf(make?.(issue));
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Returns the message text in the result of a zod error map, which is a string or an object with a `message`. */
export function textOf(made: unknown): string | undefined {
  const text = typeof made === "object" && made !== null ? (made as { readonly message?: unknown }).message : made;
  return typeof text === "string" ? text : undefined;
}

/**
 * Returns the message that the application's `z.config` gives to an issue; undefined if it configures no messages or
 * the schema has a custom one.
 */
export function configuredMessage({ facts, message, ...issue }: Pick<ShapeIssue, "message" | "facts">): string {
  const { customError, localeError } = zodConfig();
  if (facts === undefined || (customError === undefined && localeError === undefined)) return message;
  const { input } = facts;
  const given = input instanceof WireMap ? input.toObject((each) => each) : input;
  try {
    const words = isEnglish(localeError) ? undefined : localeError;
    return firstText([customError, words], { ...issue, ...facts, input: given }) ?? message;
  } catch {
    return message;
  }
}

/** Returns true if zod's messages are in its default language, English. The codec's own messages are in English too. */
function isEnglish(localeError: MakeMessage | undefined): boolean {
  return textOf(localeError?.({ code: "custom" })) === "Invalid input";
}
