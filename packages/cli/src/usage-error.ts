import type { CommanderError } from "commander";
import { jsonText } from "./target.js";

/** Returns true if a command line asks for JSON. */
export function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).includes("--json");
}

/** Prints a usage error as JSON, like the other errors of a command. */
export function reportUsage({ message }: CommanderError): void {
  const [, text = message, hint] = /^error: ([^]*?)(?:\n\(([^\n]*)\))?$/.exec(message) ?? [];
  process.stderr.write(`${jsonText({ error: { message: text, hint: hint ?? "add --help for usage" } })}\n`);
}
