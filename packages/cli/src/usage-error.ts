import type { CommanderError } from "commander";
import { jsonText } from "./target.js";

/** Whether the words of a command line ask for JSON. */
export function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).includes("--json");
}

/** Prints wrong usage as JSON, as other errors of a command are. */
export function reportUsage({ message }: CommanderError): void {
  const [, text = message, meant] = /^error: ([^]*?)(?:\n\(([^\n]*)\))?$/.exec(message) ?? [];
  process.stderr.write(`${jsonText({ error: { message: text, hint: meant ?? "add --help for usage" } })}\n`);
}
