import { addAbortListener } from "node:events";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { AnyMethod, BlobFields, Via } from "@quicrpc/core/generated";
import { type CallOptions, sanitizeForLog, RpcError, type Session } from "@quicrpc/core";
import { Command, InvalidArgumentError, Option } from "commander";
import { sendAll } from "./call-run.js";
import { type RemoteMethod, findMethod, parseMethod } from "./find-method.js";
import { inputOf, type InputArgument, parseInputArgument } from "./input-arguments.js";
import { LoadRun, type NextCall, type Outcome } from "./load-run.js";
import { parseJson } from "./parse-json.js";
import { colorsFor } from "./report.js";
import {
  ANY_SERVER,
  callOptions,
  EXIT,
  parseCount,
  printJson,
  TARGET_HELP,
  type TargetOptions,
  withSchemaOption,
  withSessions,
  withTarget,
} from "./target.js";

interface LoadOptions extends TargetOptions {
  readonly connections: number;
  readonly inFlight: number;
  readonly duration: number;
  readonly warmUp: number;
  readonly calls?: number;
  readonly rate?: number;
  readonly via: Via;
  readonly inputs?: readonly InputArgument[];
  readonly report?: string;
  readonly generate?: boolean;
  readonly seed: number;
}

const QUANTILES = [0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9] as const;

export function loadCommand(): Command {
  return withSchemaOption(
    withTarget(
      new Command("load")
        .description("Call a method as often as the server can handle, and measure rate and latency.")
        .argument("<url>", ANY_SERVER)
        .argument("<method>", "service/method", parseMethod)
        .argument(
          "[input]",
          "JSON, @file or - for stdin; a list of the items if the caller streams",
          parseInputArgument,
        )
        .option("--inputs <file>", "file of inputs, one line of JSON each, used in turn", parseLines)
        .addOption(
          new Option("--generate", "generate the input of each call from the project's schema").conflicts("inputs"),
        )
        .option(
          "--seed <n>",
          "seed of --generate: the same seed makes the same inputs in the same order",
          parseCount,
          1,
        )
        .option("-c, --connections <n>", "sessions", parseCount, 1)
        .option("-p, --in-flight <n>", "concurrent calls on each session", parseCount, 64)
        .option("-r, --rate <n>", "start this many calls a second, regardless of unfinished ones", parseCount)
        .option("-d, --duration <s>", "seconds", parseSeconds, 10)
        .option("-n, --calls <n>", "end after so many calls", parseCount)
        .option("--report <file>", "write a page with plots", parseWritable)
        .option("--warm-up <s>", "seconds of warm-up, which are not measured", parseSeconds, 1)
        .addOption(new Option("--via <way>", "how calls travel").choices(["auto", "lane", "stream"]).default("auto"))
        .addOption(
          new Option("--codec <name>", "how messages are written").choices(["msgpack", "json"]).default("msgpack"),
        )
        .option("--compress", "compress messages, if the server supports it"),
    ),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc load quic://localhost:4433 demo.v1.Arith/multiply '{"a":9,"b":2}' --dev
  $ quicrpc load quic://localhost:4433 demo.v1.Arith/multiply '{"a":9,"b":2}' --dev -c 8 -p 1 -d 30 --json
  $ quicrpc load quic://localhost:4433 demo.v1.Arith/sum '[1,2,3]' --dev --rate 500 --report load.html
  $ quicrpc load quic://localhost:4433 shop.v1.Orders/get --inputs orders.jsonl --dev
  $ quicrpc load quic://localhost:4433 shop.v1.Orders/place --generate --rate 200 --dev
  $ quicrpc load quic://localhost:4433 shop.v1.Orders/list --codec json --compress --dev
  $ quicrpc load grpc://localhost:50051 shop.v1.Orders/Get '{"id":7}' -c 4 -p 16

Each of the calls in flight is followed by the next when it is over, which measures how much a server can do. With --rate calls begin
at even times, and latency counts from when a call should have begun: what users see at that rate. It calls for real: choose a method that may be called
so often. An input of --generate passes the schema, and is made before its call's clock starts; one that is random may occur twice. This command is one thread; where its CPU is near 100%, start several. Ctrl-C ends it early.
${TARGET_HELP}`,
    )
    .action(
      async (
        url: string,
        [service, name]: [string, string],
        input: InputArgument | undefined,
        options: LoadOptions,
      ) => {
        process.exitCode = await withSessions(url, options, options.connections, async (sessions, signal) => {
          const [first] = sessions;
          const remote = await findMethod(first, service, name, callOptions(options, signal), options);
          const { method } = remote;
          const inputs =
            options.generate === true
              ? await (await import("./generated-inputs.js")).generatedInputs(method, options.seed, options.schema)
              : await inputsOf(remote, options.inputs ?? [input]);
          const next = callsOf(method, inputs, {
            timeoutMs: options.timeout,
            via: options.via,
            ...(options.compress === true && { compress: true }),
          });
          // Makes one call first, so that a wrong method or input is reported once, before the run.
          await Promise.race([next()(first), failedBy(signal)]).catch((error: unknown) => {
            throw isUnended(error, method)
              ? new RpcError("deadline_exceeded", error.message, { hint: UNENDED })
              : error;
          });
          const outcome = await load(sessions, next, options, signal);
          if (options.report !== undefined) await writeReport(options.report, `${service}/${name}`, outcome, options);
          if (options.json === true) printJson(summary(outcome));
          else process.stdout.write(table(outcome, `${service}/${name}`, options));
          return outcome.failed.size === 0 && outcome.calls > 0 ? EXIT.ok : EXIT.failed;
        });
      },
    );
}

async function load(
  sessions: readonly Session[],
  next: NextCall,
  options: LoadOptions,
  signal: AbortSignal,
): Promise<Outcome> {
  const { inFlight, duration, warmUp, rate, calls = Number.POSITIVE_INFINITY } = options;
  const common = { inFlight, rate, signal };
  if (warmUp > 0)
    await new LoadRun({ ...common, calls: Number.POSITIVE_INFINITY, seconds: warmUp }).run(sessions, next);
  const run = new LoadRun({ ...common, calls, seconds: duration, series: options.report !== undefined });
  const stop = showProgress(run);
  try {
    return await run.run(sessions, next);
  } finally {
    stop();
  }
}

const UNENDED = "load waits for the end of each call's stream: choose a method that ends it within --timeout <ms>";

function isUnended(error: unknown, { kind }: AnyMethod): error is RpcError {
  return error instanceof RpcError && error.code === "deadline_exceeded" && /^(server_stream|duplex)$/.test(kind);
}

function failedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => addAbortListener(signal, () => reject(signal.reason)));
}

async function inputsOf(remote: RemoteMethod, inputs: readonly (InputArgument | undefined)[]): Promise<() => unknown> {
  const fields = remote.method.blobs?.fields.input ?? [];
  const converted = inputs.map((input) => inputOf(remote, input));
  const withFiles =
    fields.length === 0 ? converted : await Promise.all(converted.map((input) => filesIn(input, fields)));
  let next = 0;
  return () => withFiles[next++ % withFiles.length];
}

/** Returns a copy of a message in which files replace the file names in its blob fields. */
async function filesIn(message: unknown, fields: NonNullable<BlobFields["input"]>): Promise<unknown> {
  if (typeof message !== "object" || message === null) return message;
  const { blobOfFile } = await import("./call-blobs.js");
  const completed: Record<string, unknown> = { ...message };
  for (const { name } of fields)
    if (completed[name] !== undefined) completed[name] = await blobOfFile(name, completed[name]);
  return completed;
}

function callsOf(method: AnyMethod, inputs: () => unknown, options: CallOptions): NextCall {
  return () => {
    const input = inputs();
    return (session) => callOnce(session, method, input, options);
  };
}

async function callOnce(
  session: Session,
  method: AnyMethod,
  input: unknown,
  options: CallOptions,
): Promise<number | undefined> {
  switch (method.kind) {
    case "unary":
      await readBlobs(method, await session.start(method, input, options));
      return 0;
    case "notify":
      await session.start(method, input, options);
      // Notifications have no response, so each call in flight waits for one turn of the event loop.
      await setImmediate();
      return undefined;
    case "server_stream":
      return countOf(session.start(method, input, options));
    case "client_stream":
      await session.start(method, input as readonly unknown[], options);
      return 0;
    case "duplex": {
      const { readable, writable } = session.start(method, undefined, options);
      const [items] = await Promise.all([countOf(readable), sendAll(input as readonly unknown[], writable)]);
      return items;
    }
  }
}

/** Reads and discards the blobs of an output, because the server limits the number of unread blobs. */
async function readBlobs({ blobs }: AnyMethod, output: unknown): Promise<void> {
  for (const { name } of blobs?.fields.output ?? []) {
    const blob = (output as Readonly<Record<string, AsyncIterable<Uint8Array> | undefined>>)[name];
    if (blob !== undefined) await countOf(blob);
  }
}

async function countOf(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of items) count++;
  return count;
}

async function writeReport(file: string, method: string, outcome: Outcome, options: LoadOptions): Promise<void> {
  const { reportHtml } = await import("./load-report.js");
  const { connections, inFlight, rate } = options;
  const requested = {
    sessions: connections,
    "in flight on each": inFlight,
    ...(rate !== undefined && { "calls begun a second": rate }),
  };
  const { latencyMs, failed, ...otherFigures } = summary(outcome);
  const parts = Object.entries({
    ...requested,
    ...otherFigures,
    ...prefixed("failed ", failed),
    ...prefixed("ms ", latencyMs),
  });
  const rows = parts.map(([name, value]) => [name, String(value)] as const);
  const { seconds, latency } = outcome;
  writeFileSync(file, reportHtml({ title: method, rows, seconds, latency }));
}

function prefixed(prefix: string, values: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [`${prefix}${name}`, value]));
}

/** Prints the progress of a run on a terminal once per second. Returns a function that stops this. */
function showProgress(run: LoadRun): () => void {
  if (!process.stderr.isTTY) return () => {};
  let before = 0;
  const timer = setInterval(() => {
    process.stderr.write(
      `\r${count(run.calls)} calls, ${count(run.calls - before)}/s, ${count(run.failures)} failed\u001b[K`,
    );
    before = run.calls;
  }, 1000);
  return () => {
    clearInterval(timer);
    process.stderr.write("\r\u001b[K");
  };
}

function summary({ took, calls, items, latency, failed, cpuMicros }: Outcome): Record<string, unknown> {
  const ms = (nanos: number): number => Math.round(nanos / 1000) / 1000;
  const succeeded = latency.count > 0;
  return {
    seconds: Math.round(took * 1000) / 1000,
    calls,
    callsPerSecond: Math.round(calls / took),
    ...(items > 0 && { items, itemsPerSecond: Math.round(items / took) }),
    failed: Object.fromEntries(Array.from(failed, ([code, { count: failures }]) => [code, failures])),
    latencyMs: succeeded
      ? {
          min: ms(latency.min),
          mean: ms(latency.mean),
          ...Object.fromEntries(QUANTILES.map((percent) => [`p${percent}`, ms(latency.percentile(percent))])),
          max: ms(latency.max),
        }
      : null,
    clientCpu: Math.round(cpuMicros / took / 1e4) / 100,
  };
}

function table(outcome: Outcome, method: string, { connections, inFlight }: LoadOptions): string {
  const { took, calls, items, latency, failed, cpuMicros } = outcome;
  const colors = colorsFor(process.stdout, process.env);
  const sessions = connections === 1 ? "1 session" : `${connections} sessions`;
  const rate = (amount: number): string => `${count(amount)}   ${colors.bold(`${count(amount / took)}/s`)}`;
  const lines = [
    `${colors.bold(method)}: ${sessions}, ${inFlight} in flight on each, ${took.toFixed(1)} s`,
    `  calls    ${rate(calls)}`,
    ...(items > 0 ? [`  items    ${rate(items)}`] : []),
    ...Array.from(
      failed,
      ([code, failure]) =>
        `  ${colors.red("failed")}   ${count(failure.count)}   ${code}: ${sanitizeForLog(failure.message)}`,
    ),
    ...(latency.count > 0 ? latencyLines(latency) : []),
    `  client   ${Math.round(cpuMicros / took / 1e4)}% CPU`,
  ];
  return `${lines.join("\n")}\n`;
}

function latencyLines(latency: Outcome["latency"]): string[] {
  const ms = (nanos: number): string => `${(nanos / 1e6).toFixed(3)} ms`;
  return [
    `  latency  fastest ${ms(latency.min)}   mean ${ms(latency.mean)}   slowest ${ms(latency.max)}`,
    ...QUANTILES.map((percent) => `  ${`${percent}%`.padStart(7)}  ${ms(latency.percentile(percent)).padStart(12)}`),
  ];
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** Parses a command-line argument that names a file with one JSON value on each line. */
function parseLines(file: string): readonly InputArgument[] {
  try {
    const lines = readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.trim() !== "");
    if (lines.length === 0) throw new Error("it has no lines");
    return lines.map((line) => {
      const value = parseJson(line);
      return { json: () => value, bytes: undefined };
    });
  } catch (error) {
    throw new InvalidArgumentError(`It must be a file with JSON on each line: ${(error as Error).message}.`);
  }
}

/**
 * Parses a command-line argument that names a file to write. Checks before the run that the file can be written, so
 * that results are not lost.
 */
function parseWritable(file: string): string {
  try {
    closeSync(openSync(file, "a"));
    return file;
  } catch (error) {
    throw new InvalidArgumentError(`It must be a writable file: ${(error as Error).message}.`);
  }
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds >= 0 && seconds <= 86_400)) throw new InvalidArgumentError("It must be seconds, up to 86400.");
  return seconds;
}
