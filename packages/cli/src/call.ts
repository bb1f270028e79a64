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
import { type FoundMethod, findMethod, parseInput, parseMethod } from "./find-method.js";
import { colorsFor } from "./report.js";
import { EXIT, jsonText, parseCount, TARGET_HELP, type TargetOptions, withSession, withTarget } from "./target.js";

/** A field of metadata. */
type Field = readonly [name: string, value: string | Uint8Array];

interface CallCommandOptions extends TargetOptions {
  readonly metadata?: readonly Field[];
  readonly verbose?: boolean;
  readonly out?: string;
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
      .option("-o, --out <file>", "write the answer into a file")
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

JSON is as one types it: times in ISO 8601, bytes in base64, big integers as strings. Answers are printed as JSON, one line for
each item of a stream. Raw bytes go in and out as they are.
${TARGET_HELP}`,
    )
    .action(async (url: string, [service, method]: [string, string], input: unknown, options: CallCommandOptions) => {
      process.exitCode = await withSession(url, options, async (session) => {
        const found = await findMethod(session, service, method, { timeoutMs: options.timeout });
        const trace = options.verbose === true ? new CallTrace(url, session) : undefined;
        const out = options.out === undefined ? process.stdout : createWriteStream(options.out);
        try {
          await new CallRun(session, found, out, options, trace).run(input);
        } finally {
          // Standard input that is no longer read must not keep the process alive.
          process.stdin.destroy();
          trace?.end();
          if (out !== process.stdout) await new Promise<void>((done) => out.end(done));
        }
        return EXIT.ok;
      });
    });
}

/** One call: what goes in, what comes out. */
class CallRun {
  private readonly caller: Pick<Session, "start">;
  private readonly method: AnyMethod;
  private readonly toInput: FoundMethod["toInput"];
  private readonly out: Writable;
  private readonly options: CallOptions;

  constructor(
    session: Session,
    { method, toInput }: FoundMethod,
    out: Writable,
    { timeout, metadata, retry: attempts, via, compress }: CallCommandOptions,
    trace: CallTrace | undefined,
  ) {
    // Timings stand last: of each attempt.
    this.caller = interceptCaller(session, [
      ...(attempts === undefined ? [] : [retry({ maxAttempts: attempts })]),
      ...(trace === undefined ? [] : [callTimings((timings) => trace.timings(timings))]),
    ]);
    this.method = method;
    this.toInput = toInput;
    this.out = out;
    this.options = {
      timeoutMs: timeout,
      metadata,
      via,
      compress,
      onResponseMetadata: trace && ((received) => trace.note("metadata", received)),
      onTrailers: trace && ((received) => trace.note("trailers", received)),
    };
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
  timings({ waitMs, encodeMs, answerMs, decodeMs, itemsMs, totalMs }: CallTimings): void {
    const parts = { waited: waitMs, encoded: encodeMs, "wire and server": answerMs, decoded: decodeMs, items: itemsMs };
    const told = Object.entries(parts).flatMap(([name, ms]) =>
      ms === undefined ? [] : [`${name} ${ms.toFixed(3)} ms`],
    );
    this.line(`took ${totalMs.toFixed(3)} ms: ${told.join(", ")}`);
  }

  end(): void {
    const { rttMs } = this.session;
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
