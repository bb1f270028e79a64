import { Command } from "commander";
import { EXIT, parseCount, report } from "../target.js";
import { terminated, keepAlive } from "../process-lifetime.js";
import type { DevOptions } from "./session.js";

/** Default port of the program that `quicrpc dev` runs. */
const PORT = 4433;

interface DevCommandOptions extends Omit<DevOptions, "network" | "json" | "port"> {
  readonly port?: number;
  readonly network?: string;
  readonly json?: boolean;
}

export function devCommand(): Command {
  return new Command("dev")
    .description("Generate code and run a server, again whenever a source changes.")
    .argument("[program]", "the server program (default: src/server.ts or similar)")
    .argument("[command...]", "after --, a command to run at the same time, such as a page's development server")
    .option("-n, --network <description>", "simulate a network between clients and the server")
    .option("-p, --port <port>", "the port passed to the program in PORT (default: PORT, or 4433)", parseCount)
    .option("--seed <n>", "seed of the network: the same seed loses the same packets", parseCount, 1)
    .option("--drain <ms>", "time for calls in progress before a restart", parseCount, 1000)
    .option("-c, --config <file>", "the configuration (default: the nearest quicrpc.config.ts)")
    .option("--no-studio", "do not open the studio, even if @quicrpc/studio is installed")
    .option("--json", "print events as lines of JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc dev
  $ quicrpc dev src/server.ts -- vite
  $ quicrpc dev --network "rtt=80 loss=2 down=3mbit"
  $ quicrpc dev --network flaky-wifi
  $ quicrpc dev --network "3g offline 5s"

A network is described by rtt=80 and jitter=5 (ms), loss=2, duplicate=1, reorder=1, corrupt=1 (percent), down=3mbit, up=1mbit or
rate= for both, queue=64 (packets), udp=blocked, offline 5s (in every 30), or by a name: 3g, flaky-wifi, no-udp. With it the program
gets another port in PORT, and clients find the network at its own.

The command finds the port for clients in VITE_QUICRPC_PORT, and Vite pages in import.meta.env.VITE_QUICRPC_PORT.

A restart drains the server first: clients that reconnect, such as those of connect(), then reach the new process. Programs in TypeScript need tsx
in the project, or a version of Node that runs them. Ctrl-C ends it.

Exit codes: 0 ended, 1 it cannot start, 2 wrong usage.`,
    )
    .action(
      async (program: string | undefined, words: readonly string[], options: DevCommandOptions, command: Command) => {
        process.exitCode = await dev(program, words, options, command);
      },
    );
}

async function dev(
  program: string | undefined,
  words: readonly string[],
  { network, json = false, port = Number(process.env["PORT"]) || PORT, ...options }: DevCommandOptions,
  command: Command,
): Promise<number> {
  // Loaded here because they load a compiler and the engine, which help and usage errors do not need.
  const { DevSession, readNetwork } = await import("./session.js");
  let described: DevOptions["network"];
  try {
    described = network === undefined ? undefined : readNetwork(network);
  } catch (error) {
    command.error(`error: --network: ${(error as Error).message}`);
  }
  let session: InstanceType<typeof DevSession> | undefined;
  try {
    const end = terminated();
    session = new DevSession(process.cwd(), program, words, { ...options, port, network: described, json });
    // A signal ends it while it starts, too.
    await Promise.race([session.start(), end, session.failed]);
    await keepAlive(Promise.race([end, session.failed]));
    return EXIT.ok;
  } catch (error) {
    report(error as Error, { json });
    return EXIT.failed;
  } finally {
    await session?.end();
  }
}
