import { WireMap } from "../msgpack/value.js";
import type { ShapeIssue } from "./shape.js";

/** Makes the message of an issue of zod's; undefined leaves it to the next. */
export type MakeMessage = (issue: object) => unknown;

interface ZodConfig {
  readonly customError?: MakeMessage;
  readonly localeError?: MakeMessage;
}

/** Settings by `z.config`, which zod keeps where all of its copies find it, and which are empty where zod is not loaded. */
export function zodConfig(): ZodConfig {
  return (globalThis as { __zod_globalConfig?: ZodConfig }).__zod_globalConfig ?? {};
}

/** The text of the first of `makers` that has one for `issue`. */
export function firstText(makers: readonly (MakeMessage | undefined)[], issue: object): string | undefined {
  for (const make of makers) {
    const text = textOf(make?.(issue));
    if (text !== undefined) return text;
  }
  return undefined;
}

/** The text that a function for messages of zod's gives. */
export function textOf(made: unknown): string | undefined {
  const text = typeof made === "object" && made !== null ? (made as { readonly message?: unknown }).message : made;
  return typeof text === "string" ? text : undefined;
}

/** The message of an issue in the words of `z.config`, where the application set some and the schema's author did not. */
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

/** Whether messages are in the language that zod sets when it is loaded: the codec's own are English as well. */
function isEnglish(localeError: MakeMessage | undefined): boolean {
  return textOf(localeError?.({ code: "custom" })) === "Invalid input";
}
