import { sanitizeForLog } from "@quicrpc/core";
import type { MethodDescription, ServiceDescription } from "@quicrpc/services";
import { Command } from "commander";
import { describedServices, findService } from "./described-services.js";
import { colorsFor } from "./report.js";
import {
  ANY_SERVER,
  callOptions,
  EXIT,
  printJson,
  TARGET_HELP,
  type TargetOptions,
  withSchemaOption,
  withSession,
  withTarget,
} from "./target.js";

export function lsCommand(): Command {
  return withSchemaOption(
    withTarget(
      new Command("ls")
        .description("List a server's services, using its reflection service.")
        .argument("<url>", ANY_SERVER)
        .argument("[service]", "only this service"),
    ),
  )
    .addHelpText(
      "after",
      `\nExamples:\n  $ quicrpc ls quic://localhost:4433 --dev\n  $ quicrpc ls grpc://localhost:50051\n${TARGET_HELP}`,
    )
    .action(async (url: string, service: string | undefined, options: TargetOptions) => {
      process.exitCode = await withSession(url, options, async (session, signal) => {
        const described = await describedServices(session, callOptions(options, signal), options);
        const services = service === undefined ? described.services : [findService(described, service)];
        if (options.json === true) printJson(services);
        else process.stdout.write(services.map(format).join("\n"));
        return EXIT.ok;
      });
    });
}

function format({ name, methods }: ServiceDescription): string {
  const colors = colorsFor(process.stdout, process.env);
  const rows = methods.map((method) => ({ label: sanitizeForLog(method.name), method }));
  const width = rows.reduce((widest, { label }) => Math.max(widest, label.length), 0);
  const lines = rows.map(({ label, method }) => `  ${label.padEnd(width)}  ${colors.dim(describe(method))}\n`);
  return `${colors.bold(sanitizeForLog(name))}\n${lines.join("")}`;
}

function describe({
  kind,
  takes,
  gives,
  idempotent,
  readOnly,
  once,
  resumable,
  fingerprint,
  meta,
  blobs,
}: MethodDescription): string {
  const parts: string[] = [kind];
  if (takes === "bytes" || gives === "bytes") parts.push("raw bytes");
  if (blobs !== undefined) parts.push("blobs");
  if (takes === "nothing") parts.push("no input");
  if (readOnly === true) parts.push("read-only");
  else if (idempotent) parts.push("idempotent");
  if (once === true) parts.push("once");
  if (resumable === true) parts.push("resumable");
  if (fingerprint !== undefined) parts.push(fingerprint.toString(16).padStart(8, "0"));
  if (meta !== undefined) parts.push(sanitizeForLog(JSON.stringify(meta)));
  return parts.join(", ");
}
