import { type CallOptions, sanitizeForLog, type Session } from "@quicrpc/core";
import { streamsInput, streamsOutput } from "@quicrpc/core/internal";
import { type MethodDescription, type MethodDetails, schemaText, type ServiceDescription } from "@quicrpc/services";
import { Command } from "commander";
import { describedServices, detailsOf, findService, missing } from "./described-services.js";
import { type Colors, colorsFor } from "./report.js";
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

export function describeCommand(): Command {
  return withSchemaOption(
    withTarget(
      new Command("describe")
        .description("Show types and comments of a server's services, using its reflection service.")
        .argument("<url>", ANY_SERVER)
        .argument("[name]", "only this service, or service/method"),
    ),
  )
    .addHelpText(
      "after",
      `\nExamples:\n  $ quicrpc describe quic://localhost:4433 demo.v1.Arith/multiply --dev\n  $ quicrpc describe grpc://localhost:50051 shop.v1.Orders\n${TARGET_HELP}`,
    )
    .action(async (url: string, name: string | undefined, options: TargetOptions) => {
      process.exitCode = await withSession(url, options, async (session, signal) => {
        const described = await describe(session, name, callOptions(options, signal), options);
        if (options.json === true)
          printJson(described.map(({ service, methods }) => ({ name: service.name, methods })));
        else process.stdout.write(described.map(format).join("\n"));
        return EXIT.ok;
      });
    });
}

interface Described {
  readonly service: ServiceDescription;
  readonly methods: readonly (MethodDescription & Partial<MethodDetails>)[];
}

async function describe(
  session: Session,
  name: string | undefined,
  options: CallOptions,
  target: TargetOptions,
): Promise<Described[]> {
  const [serviceName, methodName] = name?.split("/") ?? [];
  const described = await describedServices(session, options, target);
  const services = serviceName === undefined ? described.services : [findService(described, serviceName)];
  return Promise.all(
    services.map(async (service) => {
      const details = await detailsOf(described, service.name, options);
      const methods = service.methods.filter((method) => methodName === undefined || method.name === methodName);
      if (methodName !== undefined && methods.length === 0)
        throw missing(service.name, "method", methodName, service.methods);
      return { service, methods: methods.map((method) => ({ ...method, ...details.get(method.name) })) };
    }),
  );
}

function format({ service, methods }: Described): string {
  const colors = colorsFor(process.stdout, process.env);
  return `${colors.bold(sanitizeForLog(service.name))}\n${methods.map((method) => methodText(method, colors)).join("\n")}`;
}

function methodText(method: Described["methods"][number], colors: Colors): string {
  const { name, kind, takes, gives, docs } = method;
  const input = side(takes, method.input, streamsInput(method));
  const output = kind === "notify" ? "nothing" : side(gives, method.output, streamsOutput(method));
  const lines = [...(docs?.split("\n") ?? []), ...blobLines("input", method), ...blobLines("output", method)];
  const comment = lines.map((line) => `  ${colors.dim(`// ${sanitizeForLog(line)}`)}\n`).join("");
  const thrown = Object.entries(method.errors ?? {}).map(
    ([error, schema]) => `    throws ${sanitizeForLog(error)} ${schemaText(schema, schema, "    ")}\n`,
  );
  return `${comment}  ${colors.bold(sanitizeForLog(name))}(${input}): ${output || "nothing"}${colors.dim(rulesOf(method))}\n${thrown.join("")}`;
}

/** Returns the guarantees of a method that its callers may rely on, as text. */
function rulesOf({ idempotent, readOnly, once, resumable }: MethodDescription): string {
  const rules = [
    ...(readOnly === true ? ["read-only"] : idempotent ? ["idempotent"] : []),
    ...(once === true ? ["once"] : []),
    ...(resumable === true ? ["resumable"] : []),
  ];
  return rules.length === 0 ? "" : ` // ${rules.join(", ")}`;
}

function side(form: MethodDescription["takes"], schema: MethodDetails["input"], streams: boolean): string {
  if (form === "nothing") return "";
  const type = form === "bytes" ? "Uint8Array" : schema === undefined ? "unknown" : schemaText(schema, schema, "  ");
  return streams ? `stream<${type}>` : type;
}

function blobLines(side: "input" | "output", { blobs }: MethodDescription): string[] {
  return (blobs?.[side] ?? []).map(({ name, maxBytes, digest, resumable }) => {
    const rules = [
      ...(maxBytes === undefined ? [] : [`at most ${maxBytes} bytes`]),
      ...(resumable === true ? ["resumable"] : []),
      ...(digest === undefined ? [] : ["checked by its SHA-256"]),
    ];
    return `${name} of the ${side} is a blob${rules.length === 0 ? "" : `: ${rules.join(", ")}`}`;
  });
}
