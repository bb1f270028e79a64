import { nearest } from "@quicrpc/core/generated";
import type { Command } from "commander";

/** Ends with the error that `parent` has no command of a name, and the name that was probably meant. */
export function unknownCommand(parent: Command, name: string): never {
  const names = parent.commands.map((command) => command.name());
  const near = nearest(name, names);
  return parent.error(`error: unknown command '${name}'${near === undefined ? "" : `\n(Did you mean ${near}?)`}`);
}
