import type { ErrorHook, FailureSite } from "./dispatch.js";
import { guarded } from "../guarded.js";

/** Maximum number of characters in one log entry. Limited because it contains data of the peer. */
const MAX_LENGTH = 2048;
const MAX_CAUSES = 3;
/**
 * Number of log entries that may be written in a burst. After it, one entry is allowed every `INTERVAL_MS`
 * milliseconds.
 */
const BURST = 20;
const INTERVAL_MS = 1000;

/**
 * Characters that must not appear in a log: control characters, Unicode line terminators, marks that change the
 * direction of text, and unpaired surrogates.
 */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/**
 * Returns `text` on one line. Escapes characters that a terminal or log viewer could misinterpret.
 *
 * @param escape returns the replacement for a UTF-16 code unit, given in hexadecimal; default: `\u{…}`
 */
export function sanitizeForLog(text: string, escape: (hex: string) => string = (hex) => `\\u{${hex}}`): string {
  return text.replace(UNPRINTABLE, (character) => escape(character.charCodeAt(0).toString(16)));
}

/** Formats a failure for a log: the error with its stack and causes. Control characters are escaped. */
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

/** Joins as many lines as fit into a log entry. Only the first line may be cut. */
function firstLines([first = "", ...otherLines]: readonly string[]): string {
  let text = cut(first, MAX_LENGTH);
  for (const line of otherLines) {
    if (text.length + line.length >= MAX_LENGTH) break;
    text += `\n${line}`;
  }
  return text;
}

/**
 * Returns an error hook that passes formatted failures to `write`: a burst of 20, then one per second. The next entry
 * states how many were omitted.
 *
 * @param now returns the current time in milliseconds
 */
export function boundedLog(write: (text: string) => void, now: () => number = () => performance.now()): ErrorHook {
  let allowed = BURST;
  let windowStart = now();
  let leftOut = 0;
  return (error, site) => {
    const gained = Math.floor((now() - windowStart) / INTERVAL_MS);
    if (gained > 0) {
      allowed = Math.min(BURST, allowed + gained);
      windowStart += gained * INTERVAL_MS;
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

/** Default of the option `onError`: logs to the console. All sessions of the process share it and its rate limit. */
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

/** Returns the lines of a stack trace that are locations, without the error message. */
function frames({ stack, message }: Error): string[] {
  if (typeof stack !== "string") return [];
  const at = stack.indexOf(message);
  const trace = at < 0 ? stack : stack.slice(at + message.length);
  const frameLines = trace.split("\n", 12).filter((line) => /^\s+at |@/.test(line));
  return frameLines.map((line) => sanitizeForLog(cut(line, 256)));
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

/** Maximum number of nested `cause` errors that `readable` checks. */
const MAX_EXAMINED = 8;

/**
 * Returns the error hook to use: `userHook`, or else a log. The hook never receives an error whose fields throw when read.
 * If `userHook` throws, both that error and the original one are logged.
 *
 * @param peer name of the peer whose calls fail
 */
export function errorHook(userHook: ErrorHook | undefined, peer?: string): ErrorHook {
  const hook = userHook === undefined ? logError : loggedWhereItThrows(userHook);
  return (error, site) => hook(readable(error), peer === undefined ? site : { peer, ...site });
}

/** Returns `thrown`, or a substitute error if reading its fields, or those of its causes, throws. */
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
