import { addAbortListener } from "node:events";
import { Command } from "commander";
import { EXIT, parseCount, printJson, TARGET_HELP, type TargetOptions, withSession, withTarget } from "./target.js";

interface PingOptions extends TargetOptions {
  readonly count: number;
}

export function pingCommand(): Command {
  return withTarget(
    new Command("ping")
      .description("Measure the round-trip time to a server, which need not have any services.")
      .argument("<url>", "the server")
      .option("-n, --count <pings>", "how many; Ctrl-C ends it early", parseCount, 4),
  )
    .addHelpText("after", `\nExamples:\n  $ quicrpc ping quic://localhost:4433 -n 10 --dev\n${TARGET_HELP}`)
    .action(async (url: string, options: PingOptions) => {
      process.exitCode = await withSession(url, options, async (session, signal) => {
        const times: number[] = [];
        const interrupted = new Promise<undefined>((resolve) => {
          addAbortListener(signal, () => resolve(undefined));
        });
        while (times.length < options.count) {
          const ms = await Promise.race([session.ping(), interrupted]);
          if (ms === undefined) break;
          times.push(ms);
          if (options.json !== true) process.stdout.write(`${ms.toFixed(3)} ms\n`);
        }
        if (times.length === 0) signal.throwIfAborted();
        const summary = {
          count: times.length,
          minMs: Math.min(...times),
          maxMs: Math.max(...times),
          medianMs: medianOf(times),
        };
        if (options.json === true) printJson(summary);
        else process.stdout.write(`median ${summary.medianMs.toFixed(3)} ms of ${summary.count}\n`);
        return EXIT.ok;
      });
    });
}

/**
 * Returns the median of numbers. For an even number of values, the mean of the two middle values; NaN if there are no
 * values.
 */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return (low + high) / 2;
}
