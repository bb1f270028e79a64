import { sanitizeForLog } from "@quicrpc/core";
import { Command } from "commander";
import { colorsFor } from "../report.js";
import { EXIT, printJson, TARGET_HELP, type TargetOptions, withTarget } from "../target.js";
import type { Finding } from "./finding.js";

export function doctorCommand(): Command {
  return withTarget(
    new Command("doctor")
      .description("Find out why sessions fail or are slow: checks this machine and the path to a server.")
      .argument("[url]", "the server (default: check only this machine)"),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc doctor
  $ quicrpc doctor quic://localhost:4433 --dev
  $ quicrpc doctor https://shop.example/rpc --json

It looks at Node, the engine, socket buffers; and with a server at its addresses, certificate, clock and protocols, at each transport at
its host and port, at UDP, packet sizes, and whether one session after the other is answered. Each line is ok, a problem with what to do,
or a note of what may be meant so.
${TARGET_HELP} 1 as well where there is a problem.`,
    )
    .action(async (url: string | undefined, options: TargetOptions, command: Command) => {
      if (url !== undefined && !URL.canParse(url))
        command.error(`error: ${url} is not a URL: use one such as quic://localhost:4433`);
      const { examineMachine } = await import("./machine.js");
      const findings = await examineMachine();
      if (url !== undefined) {
        const { examineServer } = await import("./server.js");
        try {
          findings.push(...(await examineServer(url, options)));
        } catch (error) {
          if (!(error instanceof TypeError)) throw error;
          command.error(`error: ${error.message}`);
        }
      }
      if (options.json === true) printJson(findings);
      else process.stdout.write(findings.map(lineOf).join(""));
      process.exitCode = findings.some(({ status }) => status === "problem") ? EXIT.failed : EXIT.ok;
    });
}

function lineOf({ check, status, text, fix }: Finding): string {
  const colors = colorsFor(process.stdout, process.env);
  const color = { ok: colors.green, problem: colors.red, note: colors.yellow }[status];
  const line = `${color(status.padEnd(7))} ${check.padEnd(11)} ${sanitizeForLog(text)}\n`;
  return fix === undefined ? line : `${line}${" ".repeat(20)}${colors.green("help:")} ${sanitizeForLog(fix)}\n`;
}
