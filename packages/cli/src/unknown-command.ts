import { nearest } from "@quicrpc/core/generated";
import type { Command } from "commander";

/** Exits with the error that `parent` has no such command, and a suggestion. */
export function unknownCommand(parent: Command, name: string): never {
  const names = parent.commands.map((command) => command.name());
  const near = nearest(name, names);
  return parent.error(`error: unknown command '${name}'${near === undefined ? "" : `\n(Did you mean ${near}?)`}`);
}
