import type { Command, CommanderError } from "commander";
import { jsonText } from "./target.js";
import { nearest } from "@quicrpc/core/internal";

export function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).includes("--json");
}

/** Prints a usage error as JSON on stderr, like the other errors of a command. */
export function reportUsage({ message }: CommanderError): void {
  const [, text = message, hint] = /^error: ([^]*?)(?:\n\(([^\n]*)\))?$/.exec(message) ?? [];
  process.stderr.write(`${jsonText({ error: { message: text, hint: hint ?? "add --help for usage" } })}\n`);
}

export function unknownCommand(parent: Command, name: string): never {
  const names = parent.commands.map((command) => command.name());
  const suggestion = nearest(name, names);
  return parent.error(
    `error: unknown command '${name}'${suggestion === undefined ? "" : `\n(Did you mean ${suggestion}?)`}`,
  );
}
