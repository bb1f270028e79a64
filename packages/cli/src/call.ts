import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import {
  type CallOptions,
  interceptCaller,
  type Metadata,
  printable,
  retry,
  RpcError,
  type Session,
} from "@quicrpc/core";
import { type AnyMethod, bytesCodec, type Via } from "@quicrpc/core/generated";
import { type CallTimings, callTimings } from "@quicrpc/core/measure";
import { Command, InvalidArgumentError, Option } from "commander";
import { callBlobs } from "./call-blobs.js";
import { type FoundMethod, findMethod, parseInput, parseMethod } from "./find-method.js";
import { colorsFor } from "./report.js";
import {
  dialTarget,
  EXIT,
  jsonText,
  parseCount,
  TARGET_HELP,
  type TargetOptions,
  withSession,
  withTarget,
} from "./target.js";

/** A field of metadata. */
type Field = readonly [name: string, value: string | Uint8Array];

interface CallCommandOptions extends TargetOptions {
  readonly metadata?: readonly Field[];
  readonly verbose?: boolean;
  readonly out?: readonly string[];
  readonly uploadId?: string;
  readonly retry?: number;
  readonly via?: Via;
}

/** The `call` command. */
export function callCommand(): Command {
  return withTarget(
    new Command("call")
      .description("Call a method, which the server's reflection service describes.")
      .argument("<url>", "the server")
      .argument("<method>", "service/method", parseMethod)
      .argument(
        "[input]",
        "JSON, @file, or - for stdin; where the caller streams, items are read from stdin, one line each",
        parseInput,
      )
      .option("-m, --metadata <field>", 'send metadata with the call, "name: value"; repeatable', parseMetadata)
      .option(
        "-o, --out <place>",
        "write the answer into a file; its blobs into a folder, a file, or field=file, repeatable",
        addPlace,
      )
      .option("--upload-id <id>", "go on with an upload that was not finished, by the id that it said", parseUploadId)
      .option("-v, --verbose", "tell on stderr what the call did: session, metadata, trailers, times")
      .option("--retry <n>", "so many attempts, where none can have run twice", parseCount)
      .addOption(
        new Option("--via <way>", "how the call travels (default: as the method says)").choices([
          "auto",
          "lane",
          "stream",
        ]),
      )
      .option("--compress", "send messages compressed, where the server reads that"),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc call quic://localhost:4433 demo.v1.Arith/multiply '{"a":9,"b":2}' --dev
  $ quicrpc call quic://localhost:4433 shop.v1.Orders/place @order.json -m 'tenant: north' -v --dev
  $ seq 1 3 | quicrpc call quic://localhost:4433 demo.v1.Arith/sum --dev
  $ quicrpc call quic://localhost:4433 shop.v1.Photos/add '{"title":"Lake","photo":"@lake.jpg"}' --dev
  $ tar c . | quicrpc call quic://localhost:4433 shop.v1.Photos/add '{"title":"All","photo":"@-"}' --dev
  $ quicrpc call quic://localhost:4433 shop.v1.Photos/get '{"title":"Lake"}' --out lake.jpg --dev

A field that is a blob takes "@file", or "@-" for stdin, and its answer's go where --out says: a folder that exists, in which nothing is replaced, a file, or - for
stdout. A call with blobs takes as long as it takes, unless --timeout says otherwise. Where the method is resumable it goes on after the loss of its session; run again,
a download goes on after what is there, and an upload with --upload-id.

JSON is as one types it: times in ISO 8601, bytes in base64, big integers as strings. Answers are printed as JSON, one line for
each item of a stream. Raw bytes go in and out as they are.
${TARGET_HELP}`,
    )
    .action(
      async (
        url: string,
        [service, method]: [string, string],
        input: unknown,
        options: CallCommandOptions,
        command: Command,
      ) => {
        process.exitCode = await withSession(url, options, async (session) => {
          const found = await findMethod(session, service, method, { timeoutMs: options.timeout });
          const trace = options.verbose === true ? new CallTrace(url, session) : undefined;
          try {
            if (found.method.blobs === undefined) await callMessages(session, found, input, options, trace);
            else {
              const isTimed = command.getOptionValueSource("timeout") === "cli";
              const { timeoutMs, ...others } = callOptionsOf(options, trace);
              await callBlobs({
                session,
                dialAnew: () => dialTarget(url, options),
                intercepted: (caller) => interceptCaller(caller, interceptorsOf(options, trace)),
                method: found.method,
                input: found.toInput(input),
                options: isTimed ? { ...others, timeoutMs } : others,
                places: options.out ?? [],
                uploadId: options.uploadId,
              });
            }
          } finally {
            // Standard input that is no longer read must not keep the process alive.
            process.stdin.destroy();
            trace?.end();
          }
          return EXIT.ok;
        });
      },
    );
}

async function callMessages(
  session: Session,
  found: FoundMethod,
  input: unknown,
  options: CallCommandOptions,
  trace: CallTrace | undefined,
): Promise<void> {
  const [place, ...more] = options.out ?? [];
  if (more.length > 0) throw new RpcError("invalid_argument", "the answer has no blobs: --out takes one file");
  const caller = interceptCaller(session, interceptorsOf(options, trace));
  const out = place === undefined ? process.stdout : createWriteStream(place);
  try {
    await new CallRun(caller, found, out, callOptionsOf(options, trace)).run(input);
  } finally {
    if (out !== process.stdout) await new Promise<void>((done) => out.end(done));
  }
}

function interceptorsOf(
  { retry: attempts }: CallCommandOptions,
  trace: CallTrace | undefined,
): Parameters<typeof interceptCaller>[1] {
  // Timings stand last: of each attempt.
  return [
    ...(attempts === undefined ? [] : [retry({ maxAttempts: attempts })]),
    ...(trace === undefined ? [] : [callTimings((timings) => trace.timings(timings))]),
  ];
}

function callOptionsOf(
  { timeout, metadata, via, compress }: CallCommandOptions,
  trace: CallTrace | undefined,
): CallOptions {
  return {
    timeoutMs: timeout,
    metadata,
    via,
    compress,
    onResponseMetadata: trace && ((received) => trace.note("metadata", received)),
    onTrailers: trace && ((received) => trace.note("trailers", received)),
  };
}

/** One call: what goes in, what comes out. */
class CallRun {
  private readonly caller: Pick<Session, "start">;
  private readonly method: AnyMethod;
  private readonly toInput: FoundMethod["toInput"];
  private readonly out: Writable;
  private readonly options: CallOptions;

  constructor(caller: Pick<Session, "start">, { method, toInput }: FoundMethod, out: Writable, options: CallOptions) {
    this.caller = caller;
    this.method = method;
    this.toInput = toInput;
    this.out = out;
    this.options = options;
  }

  async run(json: unknown): Promise<void> {
    const { caller, method, options } = this;
    // The kind was given by the peer: the descriptor was made for it.
    switch (method.kind) {
      case "unary":
        return this.print(await caller.start(method, this.toInput(json), options));
      case "notify":
        return caller.start(method, this.toInput(json), options);
      case "client_stream":
        return this.print(await caller.start(method, this.stdin(), options));
      case "server_stream":
        return this.printAll(caller.start(method, this.toInput(json), options));
      case "duplex": {
        const { readable, writable } = caller.start(method, undefined, options);
        const sending = sendAll(this.stdin(), writable);
        await this.printAll(readable);
        return sending;
      }
    }
  }

  private async printAll(items: AsyncIterable<unknown>): Promise<void> {
    for await (const item of items) await this.print(item);
  }

  private async print(value: unknown): Promise<void> {
    const { output } = this.method;
    if (output === undefined) return;
    const room = this.out.write(output === bytesCodec ? (value as Uint8Array) : `${jsonText(value)}\n`);
    if (!room) await new Promise<void>((drained) => this.out.once("drain", drained));
  }

  /** Reads the items that the caller streams: lines of JSON, or bytes as they come. */
  private async *stdin(): AsyncGenerator {
    if (this.method.input === bytesCodec) {
      yield* process.stdin as AsyncIterable<Uint8Array>;
      return;
    }
    let number = 0;
    for await (const line of createInterface({ input: process.stdin })) {
      number++;
      if (line.trim() === "") continue;
      try {
        yield this.toInput(JSON.parse(line));
      } catch (error) {
        throw new RpcError("invalid_argument", `line ${number} of stdin is no JSON: ${(error as Error).message}`);
      }
    }
  }
}

/** Tells on stderr what a call did. */
class CallTrace {
  private readonly session: Session;
  private readonly began = performance.now();
  private readonly colors = colorsFor(process.stderr, process.env);
  /** As it was when the call was over: its session may be gone by the end. */
  private rttMs: number | undefined = undefined;

  constructor(url: string, session: Session) {
    this.session = session;
    this.line(`calls ${url}`);
  }

  note(what: string, received: Metadata): void {
    for (const [key, value] of received) {
      this.line(`${what} ${key}: ${typeof value === "string" ? value : Buffer.from(value).toString("base64")}`);
    }
  }

  /** Tells where the time of an attempt went. */
  timings({ waitMs, uploadMs, uploadBytes, encodeMs, answerMs, decodeMs, itemsMs, totalMs }: CallTimings): void {
    this.rttMs = this.session.rttMs;
    const parts = {
      waited: waitMs,
      [`sent ${uploadBytes} bytes of blobs`]: uploadMs,
      encoded: encodeMs,
      "wire and server": answerMs,
      decoded: decodeMs,
      items: itemsMs,
    };
    const told = Object.entries(parts).flatMap(([name, ms]) =>
      ms === undefined ? [] : [`${name} ${ms.toFixed(3)} ms`],
    );
    this.line(`took ${totalMs.toFixed(3)} ms: ${told.join(", ")}`);
  }

  end(): void {
    const rttMs = this.session.rttMs ?? this.rttMs;
    this.line(`over${rttMs === undefined ? "" : `, round trip ${rttMs.toFixed(3)} ms`}`);
  }

  private line(text: string): void {
    const ms = `${(performance.now() - this.began).toFixed(1).padStart(8)} ms`;
    process.stderr.write(`${this.colors.dim(ms)}  ${printable(text)}\n`);
  }
}

/** A failure on the way is also the call's, and told there. */
export async function sendAll(
  items: AsyncIterable<unknown> | Iterable<unknown>,
  writable: WritableStream<unknown>,
): Promise<void> {
  const writer = writable.getWriter();
  try {
    for await (const item of items) await writer.write(item);
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
  }
}

function parseMetadata(text: string, before: readonly Field[] = []): readonly Field[] {
  const at = text.indexOf(":");
  if (at < 1) throw new InvalidArgumentError('It takes "name: value".');
  const [name, value] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  return [...before, [name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value]];
}

function addPlace(place: string, before: readonly string[] = []): readonly string[] {
  return [...before, place];
}

function parseUploadId(text: string): string {
  if (!/^[0-9a-f]{32}$/.test(text)) throw new InvalidArgumentError("It takes 32 hexadecimal digits.");
  return text;
}
