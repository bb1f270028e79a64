#!/usr/bin/env node
import { readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { Command, CommanderError } from "commander";
import { breakingCommand } from "./breaking.js";
import { callCommand } from "./call.js";
import { certCommand } from "./cert/command.js";
import { addCompletion } from "./completion.js";
import { devCommand } from "./dev/command.js";
import { importCommand } from "./import.js";
import { initCommand } from "./init/command.js";
import { describeCommand } from "./describe.js";
import { doctorCommand } from "./doctor/command.js";
import { genCommand } from "./gen.js";
import { healthCommand } from "./health.js";
import { loadCommand } from "./load.js";
import { lsCommand } from "./ls.js";
import { mcpCommand } from "./mcp.js";
import { mockCommand } from "./mock/command.js";
import { pingCommand } from "./ping.js";
import { renameCommand } from "./rename.js";
import { studioCommand } from "./studio.js";
import { asksForJson, reportUsage, unknownCommand } from "./usage.js";

const USAGE = 2;

// The compiler is large, so Node caches its compiled code for the next run, if it supports that.
(nodeModule as { enableCompileCache?: () => void }).enableCompileCache?.();

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const json = asksForJson(process.argv.slice(2));

const program = new Command("quicrpc")
  .description("Typed RPC over QUIC: tools for service schemas and running servers.")
  .version(version, "-V, --version", "print the version")
  .helpCommand(false)
  .showSuggestionAfterError(true)
  .showHelpAfterError(json ? false : "(add --help for usage)")
  .configureOutput(json ? { outputError: () => {} } : {})
  .addHelpText(
    "after",
    "\nExamples:\n  $ quicrpc gen src/arith.service.ts --out src/generated\n  $ quicrpc ls quic://localhost:4433 --dev\n  $ quicrpc gen --help",
  );

// A command inherits settings if it is created by `command()`, but not if it is added.
const commands = [
  initCommand(version),
  importCommand(),
  genCommand(),
  devCommand(),
  mockCommand(),
  breakingCommand(),
  renameCommand(),
  lsCommand(),
  describeCommand(),
  callCommand(),
  certCommand(),
  healthCommand(),
  pingCommand(),
  doctorCommand(),
  loadCommand(),
  mcpCommand(version),
  studioCommand(),
  helpCommand(),
];
for (const command of commands) {
  program.addCommand(command.copyInheritedSettings(program).exitOverride());
  for (const nested of command.commands) nested.copyInheritedSettings(command);
}
program.exitOverride();

/**
 * Creates the `help` command. Commander's own `help` prints the complete help for a misspelt command, without a
 * suggestion.
 */
function helpCommand(): Command {
  return new Command("help")
    .description("show the help of a command")
    .argument("[command]", "the command")
    .action((name: string | undefined) => {
      const named = name === undefined ? program : program.commands.find((command) => command.name() === name);
      if (named === undefined) unknownCommand(program, name as string);
      named.outputHelp();
    });
}

// The reader of the output has closed it, as head(1) does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

try {
  await addCompletion(program, process.argv.slice(2));
  await program.parseAsync();
} catch (error) {
  // Commander has already printed the message, except with --json. Help and version also get here, with exit code 0.
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : USAGE;
  if (json && process.exitCode !== 0) reportUsage(error);
}
