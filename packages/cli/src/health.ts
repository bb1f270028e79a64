import { type Caller, type CallOptions, RpcError } from "@quicrpc/core";
import { createHealthClient, type HealthStatus } from "@quicrpc/services";
import { Command } from "commander";
import { listServices, missing } from "./described-services.js";
import { colorsFor } from "./report.js";
import { callOptions, EXIT, printJson, TARGET_HELP, type TargetOptions, withSession, withTarget } from "./target.js";

interface HealthOptions extends TargetOptions {
  readonly watch?: boolean;
}

export function healthCommand(): Command {
  return withTarget(
    new Command("health")
      .description("Check whether a server, or one of its services, is able to serve.")
      .argument("<url>", "the server")
      .argument("[service]", "the service (default: the server as a whole)")
      .option("--watch", "continue and print each change, until Ctrl-C"),
  )
    .addHelpText(
      "after",
      `\nExamples:\n  $ quicrpc health quic://localhost:4433 demo.v1.Arith --dev\n${TARGET_HELP} 1 as well when not serving.`,
    )
    .action(async (url: string, service: string | undefined, options: HealthOptions) => {
      process.exitCode = await withSession(url, options, async (session, signal) => {
        const health = createHealthClient(session);
        const unaryOptions = callOptions(options, signal);
        // Also before a watch, which would wait for a misspelt name.
        const status = await statusOf(session, service, unaryOptions);
        if (options.watch !== true) {
          print(status, options);
          return status === "serving" ? EXIT.ok : EXIT.failed;
        }
        try {
          for await (const change of health.watch({ service: service ?? "" }, { signal }))
            print(change.status, options);
        } catch (error) {
          if (!signal.aborted) throw error;
        }
        return EXIT.ok;
      });
    });
}

/**
 * Returns the health status of a service. If the server does not know the service, rejects with an error that lists the
 * known names.
 */
async function statusOf(caller: Caller, service: string = "", options: CallOptions): Promise<HealthStatus> {
  const health = createHealthClient(caller);
  try {
    return (await health.check({ service }, options)).status;
  } catch (error) {
    if (RpcError.from(error).code !== "not_found") throw error;
    const services = await listServices(caller, options).catch(() => []);
    const checked = await Promise.allSettled(services.map(({ name }) => health.check({ service: name }, options)));
    const known = services.filter((_, index) => checked[index]?.status === "fulfilled");
    const { message } =
      known.length === 0 ? RpcError.from(error) : missing("the server's health service", "service", service, known);
    throw new RpcError("not_found", message, { hint: "without a name this checks the server as a whole" });
  }
}

function print(status: HealthStatus, { json }: HealthOptions): void {
  if (json === true) {
    printJson({ status });
    return;
  }
  const colors = colorsFor(process.stdout, process.env);
  process.stdout.write(`${status === "serving" ? colors.green(status) : colors.red(status)}\n`);
}
