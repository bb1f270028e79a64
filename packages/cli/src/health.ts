import { RpcError } from "@quicrpc/core";
import { createHealthClient, type HealthStatus } from "@quicrpc/services";
import { Command } from "commander";
import { colorsFor } from "./report.js";
import { callOptions, EXIT, printJson, TARGET_HELP, type TargetOptions, withSession, withTarget } from "./target.js";

interface HealthOptions extends TargetOptions {
  readonly watch?: boolean;
}

/** The `health` command. */
export function healthCommand(): Command {
  return withTarget(
    new Command("health")
      .description("Ask a server whether it, or one of its services, is able to serve.")
      .argument("<url>", "the server")
      .argument("[service]", "the service (default: the server as a whole)")
      .option("--watch", "go on, and print each change, until Ctrl-C"),
  )
    .addHelpText(
      "after",
      `\nExamples:\n  $ quicrpc health quic://localhost:4433 demo.v1.Arith --dev\n${TARGET_HELP} 1 as well when not serving.`,
    )
    .action(async (url: string, service: string | undefined, options: HealthOptions) => {
      process.exitCode = await withSession(url, options, async (session, signal) => {
        const health = createHealthClient(session);
        const request = { service: service ?? "" };
        if (options.watch === true) {
          try {
            for await (const { status } of health.watch(request, { signal })) print(status, options);
          } catch (error) {
            if (!signal.aborted) asUnknown(error);
          }
          return EXIT.ok;
        }
        const { status } = await health.check(request, callOptions(options, signal)).catch(asUnknown);
        print(status, options);
        return status === "serving" ? EXIT.ok : EXIT.failed;
      });
    });
}

/** Throws the error of a check, with what to do where the server knows no service of that name. */
function asUnknown(error: unknown): never {
  const { code, message } = RpcError.from(error);
  if (code !== "not_found") throw error;
  throw new RpcError(code, message, { hint: "quicrpc ls <url> shows the names of its services" });
}

function print(status: HealthStatus, { json }: HealthOptions): void {
  if (json === true) {
    printJson({ status });
    return;
  }
  const colors = colorsFor(process.stdout, process.env);
  process.stdout.write(`${status === "serving" ? colors.green(status) : colors.red(status)}\n`);
}
