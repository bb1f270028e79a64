import { Command } from "commander";
import { EXIT, parseCount, printJson, TARGET_HELP, type TargetOptions, withSession, withTarget } from "./target.js";

interface PingOptions extends TargetOptions {
  readonly count: number;
}

/** The `ping` command. */
export function pingCommand(): Command {
  return withTarget(
    new Command("ping")
      .description("Measure the round-trip time to a server; it need not serve anything.")
      .argument("<url>", "the server")
      .option("-n, --count <pings>", "how many", parseCount, 4),
  )
    .addHelpText("after", `\nExamples:\n  $ quicrpc ping quic://localhost:4433 -n 10 --dev\n${TARGET_HELP}`)
    .action(async (url: string, options: PingOptions) => {
      process.exitCode = await withSession(url, options, async (session) => {
        const times: number[] = [];
        for (let i = 0; i < options.count; i++) {
          const ms = await session.ping();
          times.push(ms);
          if (options.json !== true) process.stdout.write(`${ms.toFixed(3)} ms\n`);
        }
        const summary = {
          count: times.length,
          minMs: Math.min(...times),
          maxMs: Math.max(...times),
          medianMs: median(times),
        };
        if (options.json === true) printJson(summary);
        else process.stdout.write(`median ${summary.medianMs.toFixed(3)} ms of ${summary.count}\n`);
        return EXIT.ok;
      });
    });
}

function median(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
