import type { ErrorHook, FailureSite } from "./dispatch.js";
import { guarded } from "../guarded.js";

/** Most characters of one entry, which contains data from a peer. */
const MAX_LENGTH = 2048;
/** Most nested causes that are followed. */
const MAX_CAUSES = 3;
/** Number of entries that may be written at once (`BURST`), and the interval after which one more is allowed. */
const BURST = 20;
const INTERVAL_MS = 1000;

/** Control characters, Unicode line terminators, marks that change the direction of text, and unpaired surrogates. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/**
 * Returns `text` on one line, with characters escaped that a terminal or a reader of logs could misinterpret.
 *
 * @param escape returns the replacement for a UTF-16 code in hexadecimal; `\u{…}` by default
 */
export function sanitizeForLog(text: string, escape: (hex: string) => string = (hex) => `\\u{${hex}}`): string {
  return text.replace(UNPRINTABLE, (character) => escape(character.charCodeAt(0).toString(16)));
}

/** Describes a failure for a log: the error, where it was thrown, and its causes. Every line is printable. */
export function describeFailure(error: unknown, { method, peer }: FailureSite): string {
  const from = peer === undefined ? "" : ` for ${sanitizeForLog(cut(peer, 256))}`;
  const lines = [`quicrpc: ${sanitizeForLog(cut(method, 256))}${from} failed: ${headline(error)}`];
  let cause = error;
  for (let depth = 0; depth <= MAX_CAUSES && cause instanceof Error; depth++) {
    if (depth > 0) lines.push(`  caused by ${headline(cause)}`);
    lines.push(...frames(cause));
    ({ cause } = cause);
  }
  return firstLines(lines);
}

/** Joins the lines that fit into an entry, whole ones except for the first. */
function firstLines([first = "", ...rest]: readonly string[]): string {
  let text = cut(first, MAX_LENGTH);
  for (const line of rest) {
    if (text.length + line.length >= MAX_LENGTH) break;
    text += `\n${line}`;
  }
  return text;
}

/** Returns a logger that writes failures to `write`: a burst of them, and then one per second. Those left out are counted. */
export function boundedLog(write: (text: string) => void, now: () => number = () => performance.now()): ErrorHook {
  let allowed = BURST;
  let since = now();
  let leftOut = 0;
  return (error, site) => {
    const gained = Math.floor((now() - since) / INTERVAL_MS);
    if (gained > 0) {
      allowed = Math.min(BURST, allowed + gained);
      since += gained * INTERVAL_MS;
    }
    if (allowed === 0) {
      leftOut++;
      return;
    }
    allowed--;
    if (leftOut > 0) write(`quicrpc: ${leftOut} more failures were not logged: give \`onError\` to have them all`);
    leftOut = 0;
    write(describeFailure(error, site));
  };
}

/** Default of `onError`. One for the whole process, so that many sessions log no more than one. */
// oxlint-disable-next-line no-console -- the default of an option; a crash in a handler must not pass unseen
const logError: ErrorHook = /* @__PURE__ */ boundedLog((text) => console.error(text));

function headline(error: unknown): string {
  try {
    return sanitizeForLog(cut(error instanceof Error ? nameAndMessage(error) : String(error), MAX_LENGTH / 2));
  } catch {
    return "something that cannot be shown";
  }
}

function nameAndMessage(error: Error): string {
  const code = "code" in error ? ` ${String(error.code)}` : "";
  return `${error.name}${code}: ${error.message}`;
}

/** Returns the lines of a stack that are locations, regardless of the message before them. */
function frames({ stack, message }: Error): string[] {
  if (typeof stack !== "string") return [];
  const at = stack.indexOf(message);
  const rest = at < 0 ? stack : stack.slice(at + message.length);
  const places = rest.split("\n", 12).filter((line) => /^\s+at |@/.test(line));
  return places.map((line) => sanitizeForLog(cut(line, 256)));
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** Most nested causes that are examined. */
const MAX_EXAMINED = 8;

/**
 * Returns a hook that receives failures: `given`, or a log. The errors that it receives can always be read. If `given`
 * throws, that error and the original failure are logged.
 *
 * @param peer name of the peer whose calls fail
 */
export function errorHook(given: ErrorHook | undefined, peer?: string): ErrorHook {
  const hook = given === undefined ? logError : loggedWhereItThrows(given);
  return (error, site) => hook(readable(error), peer === undefined ? site : { peer, ...site });
}

/** Returns the thrown value, or a substitute error if the fields of the value or of its causes cannot be read. */
function readable(thrown: unknown): unknown {
  try {
    let error = thrown;
    for (let depth = 0; error instanceof Error && depth < MAX_EXAMINED; depth++) {
      const { name, message, stack, code, cause } = error as Error & { readonly code?: unknown };
      [name, message, stack, code].map(String);
      error = cause;
    }
    String(error);
    return thrown;
  } catch {
    return new TypeError("an error was thrown whose fields cannot be read");
  }
}

function loggedWhereItThrows(given: ErrorHook): ErrorHook {
  return (error, site) =>
    guarded(given, (thrown) => {
      logError(error, site);
      logError(thrown, { method: "onError" });
    })(error, site);
}
