import { WireMap } from "../msgpack/value.js";
import type { ShapeIssue } from "./shape.js";

/** An error map of `z.config`: returns the message of an issue, or undefined to leave it to the next error map. */
export type MakeMessage = (issue: object) => unknown;

interface ZodConfig {
  readonly customError?: MakeMessage;
  readonly localeError?: MakeMessage;
}

/** Returns the settings of `z.config`, which all copies of zod share. They are empty if zod is not loaded. */
export function zodConfig(): ZodConfig {
  return (globalThis as { __zod_globalConfig?: ZodConfig }).__zod_globalConfig ?? {};
}

/** Returns the first text that one of `makers` has for `issue`. */
export function firstText(makers: readonly (MakeMessage | undefined)[], issue: object): string | undefined {
  for (const make of makers) {
    const text = textOf(make?.(issue));
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Returns the text in the result of one of zod's message functions. */
export function textOf(made: unknown): string | undefined {
  const text = typeof made === "object" && made !== null ? (made as { readonly message?: unknown }).message : made;
  return typeof text === "string" ? text : undefined;
}

/** Returns the message of an issue according to `z.config`, if the application configured messages and the schema has no custom one. */
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

/** Returns true if messages are in zod's default language: English, like the codec's own. */
function isEnglish(localeError: MakeMessage | undefined): boolean {
  return textOf(localeError?.({ code: "custom" })) === "Invalid input";
}
