import {
  type CallOptions,
  type Connection,
  interceptCaller,
  Metadata,
  retry,
  RpcError,
  type Session,
} from "@quicrpc/core";
import type { Via } from "@quicrpc/core/generated";
import { callTimings } from "@quicrpc/core/measure";
import { batchTimings } from "@quicrpc/services";
import { Command, InvalidArgumentError, Option } from "commander";
import { CallRun, Output } from "./call-run.js";
import { CallTrace } from "./call-trace.js";
import { type DataField, parseDataField } from "./data-fields.js";
import { type RemoteMethod, findMethod, parseMethod } from "./find-method.js";
import { InputArguments, type InputArgument, parseInputArgument } from "./input-arguments.js";
import {
  ANY_SERVER,
  callOptions,
  dialTarget,
  EXIT,
  parseCount,
  TARGET_HELP,
  type TargetOptions,
  withSchemaOption,
  withSession,
  withTarget,
} from "./target.js";

/** Name and value of a metadata field. */
type Field = readonly [name: string, value: string | Uint8Array];

interface CallCommandOptions extends TargetOptions {
  readonly metadata?: readonly Field[];
  readonly dataField?: readonly DataField[];
  readonly verbose?: boolean;
  readonly out?: readonly string[];
  readonly uploadId?: string;
  readonly retry?: number;
  readonly via?: Via;
}

export function callCommand(): Command {
  return withSchemaOption(
    withTarget(
      new Command("call")
        .description("Call a method that the server's reflection service describes.")
        .argument("<url>", ANY_SERVER)
        .argument("<method>", "service/method", parseMethod)
        .argument(
          "[input]",
          "JSON, @file, or - for stdin; if the caller streams, a list of items or an item in each line (default: stdin)",
          parseInputArgument,
        )
        .option(
          "-f, --data-field <name=value>",
          "a field of the input, converted by the schema, or @file; repeatable, also for the items of a list",
          parseDataField,
        )
        .option("-m, --metadata <field>", 'send metadata with the call, "name: value"; repeatable', parseMetadata)
        .option(
          "-o, --out <place>",
          "write the answer into a file; its blobs into a folder, a file, or field=file, repeatable",
          addDestination,
        )
        .option("--upload-id <id>", "continue an unfinished upload, by the id that was printed", parseUploadId)
        .option("-v, --verbose", "print details of the call on stderr: metadata, trailers, timings, the network")
        .option("--retry <n>", "number of attempts, as long as the call cannot run twice", parseCount)
        .addOption(
          new Option("--via <way>", "transport of the call (default: as the method declares)").choices([
            "auto",
            "lane",
            "stream",
          ]),
        )
        .option("--compress", "compress messages, if the server supports it"),
    ),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc call quic://localhost:4433 demo.v1.Arith/multiply '{"a":9,"b":2}' --dev
  $ quicrpc call quic://localhost:4433 shop.v1.Orders/place @order.json -m 'tenant: north' -v --dev
  $ quicrpc call quic://localhost:4433 shop.v1.Orders/place -f item=lamp -f count=2 -f address.city=Oslo --dev
  $ seq 1 3 | quicrpc call quic://localhost:4433 demo.v1.Arith/sum --dev
  $ quicrpc call quic://localhost:4433 shop.v1.Photos/add '{"title":"Lake","photo":"@lake.jpg"}' --dev
  $ tar c . | quicrpc call quic://localhost:4433 shop.v1.Photos/add '{"title":"All","photo":"@-"}' --dev
  $ quicrpc call quic://localhost:4433 shop.v1.Photos/get '{"title":"Lake"}' --out lake.jpg --dev
  $ quicrpc call grpc://localhost:50051 shop.v1.Orders/Place '{"item":"lamp","count":2}'

A field that is a blob takes "@file", or "@-" for stdin, and its answer's go where --out says: a folder that exists, in which nothing is replaced, a file, or - for
stdout. A call with blobs or streams takes as long as it takes, unless --timeout says otherwise. Where the method is resumable it goes on after the loss of its session; run again,
a download goes on after what is there, and an upload with --upload-id.

JSON is as one types it: times in RFC 3339 (2026-01-31T12:00:00Z), bytes in base64, big integers as strings. Answers are printed as JSON, one line for
each item of a stream. Raw bytes go in and out as they are. Messages of a gRPC
server are canonical proto JSON. Ctrl-C cancels the call, at the server too.
${TARGET_HELP}`,
    )
    .action(
      async (
        url: string,
        [service, method]: [string, string],
        argument: InputArgument | undefined,
        options: CallCommandOptions,
        command: Command,
      ) => {
        process.exitCode = await withSession(url, options, async (session, signal) => {
          const remote = await findMethod(session, service, method, callOptions(options, signal), options);
          const trace = options.verbose === true ? traceOf(url, session, remote, options) : undefined;
          const givenInput = new InputArguments(argument, options.dataField);
          const destinations = options.out ?? [];
          // Blobs and streams take as long as they take.
          const isBrief = remote.method.blobs === undefined && ["unary", "notify"].includes(remote.method.kind);
          const isTimed = isBrief || command.getOptionValueSource("timeout") === "cli";
          const resolvedOptions = callOptionsOf(options, trace, signal, isTimed);
          const intercepted = (caller: Session | Connection): Pick<Session, "start"> =>
            interceptCaller(caller, interceptorsOf(options, trace));
          try {
            if (remote.method.blobs === undefined)
              await callMessages(intercepted(session), remote, givenInput, destinations, resolvedOptions);
            else {
              // With zod, which the entry of blobs loads.
              const { callBlobs } = await import("./call-blobs.js");
              await callBlobs({
                session,
                dialAnew: () => dialTarget(url, options, signal),
                intercepted,
                remote,
                input: givenInput.message(remote),
                options: resolvedOptions,
                destinations,
                uploadId: options.uploadId,
                signal,
                json: options.json === true,
              });
            }
          } finally {
            // If standard input is no longer read, it must not keep the process running.
            process.stdin.destroy();
            await trace?.end();
          }
          return EXIT.ok;
        });
      },
    );
}

function traceOf(url: string, session: Session, { timingsOf }: RemoteMethod, { json }: CallCommandOptions): CallTrace {
  return new CallTrace(url, session, timingsOf, json === true);
}

async function callMessages(
  caller: Pick<Session, "start">,
  remote: RemoteMethod,
  input: InputArguments,
  destinations: readonly string[],
  options: CallOptions,
): Promise<void> {
  const [destination, ...more] = destinations;
  if (more.length > 0) throw new RpcError("invalid_argument", "the answer has no blobs: --out accepts one file");
  const out = await Output.to(destination);
  try {
    await new CallRun(caller, remote, out, options).run(input);
  } finally {
    await out.end();
  }
}

function interceptorsOf(
  { retry: attempts }: CallCommandOptions,
  trace: CallTrace | undefined,
): Parameters<typeof interceptCaller>[1] {
  // Timings come last, so that they measure each attempt.
  return [
    ...(attempts === undefined ? [] : [retry({ maxAttempts: attempts })]),
    ...(trace === undefined
      ? []
      : [batchTimings((steps) => trace.steps(steps)), callTimings((timings) => trace.timings(timings))]),
  ];
}

function callOptionsOf(
  { timeout, metadata = [], via, compress }: CallCommandOptions,
  trace: CallTrace | undefined,
  signal: AbortSignal,
  isTimed: boolean,
): CallOptions {
  return {
    signal,
    ...(isTimed && { timeoutMs: timeout }),
    metadata: trace?.callName === undefined ? metadata : [...metadata, ["call-name", trace.callName]],
    via,
    compress,
    onResponseMetadata: trace && ((received) => trace.note("metadata", received)),
    onTrailers: trace && ((received) => trace.note("trailers", received)),
  };
}

function parseMetadata(text: string, before: readonly Field[] = []): readonly Field[] {
  const at = text.indexOf(":");
  if (at < 1) throw new InvalidArgumentError('It takes "name: value".');
  const [name, value] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  const field: Field = [name, /-bin$/i.test(name) ? Buffer.from(value, "base64") : value];
  try {
    return [...before, ...new Metadata([field])];
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message}.`);
  }
}

function addDestination(destination: string, before: readonly string[] = []): readonly string[] {
  return [...before, destination];
}

function parseUploadId(text: string): string {
  if (!/^[0-9a-f]{32}$/.test(text)) throw new InvalidArgumentError("It takes 32 hexadecimal digits.");
  return text;
}
