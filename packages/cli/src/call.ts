import { createInterface } from "node:readline";
import { type AnyMethod, bytesCodec } from "@quicrpc/core/generated";
import { type CallOptions, RpcError, type Session } from "@quicrpc/core";
import { Command } from "commander";
import { findMethod, parseJson, parseMethod } from "./find-method.js";
import { EXIT, printJson, TARGET_HELP, type TargetOptions, withSession, withTarget } from "./target.js";

/** The `call` command. */
export function callCommand(): Command {
  return withTarget(
    new Command("call")
      .description("Call a method, which the server's reflection service describes.")
      .argument("<url>", "the server")
      .argument("<method>", "service/method", parseMethod)
      .argument(
        "[input]",
        "JSON; where the caller streams, items are read from stdin instead, one line each",
        parseJson,
      ),
  )
    .addHelpText(
      "after",
      `
Examples:
  $ quicrpc call quic://localhost:4433 demo.v1.Arith/multiply '{"a":9,"b":2}' --dev
  $ seq 1 3 | quicrpc call quic://localhost:4433 demo.v1.Arith/sum --dev

Answers are printed as JSON, one line for each item of a stream. Raw bytes go in and out as they are.
${TARGET_HELP}`,
    )
    .action(async (url: string, [service, method]: [string, string], input: unknown, options: TargetOptions) => {
      process.exitCode = await withSession(url, options, async (session) => {
        const callOptions = { timeoutMs: options.timeout };
        const described = await findMethod(session, service, method, callOptions);
        try {
          await call(session, described, input, callOptions);
        } finally {
          // Standard input that is no longer read must not keep the process alive.
          process.stdin.destroy();
        }
        return EXIT.ok;
      });
    });
}

async function call(session: Session, method: AnyMethod, input: unknown, options: CallOptions): Promise<void> {
  // The kind was given by the peer: the descriptor was made for it.
  switch (method.kind) {
    case "unary":
      return print(method, await session.start(method, input, options));
    case "notify":
      return session.start(method, input, options);
    case "client_stream":
      return print(method, await session.start(method, stdin(method), options));
    case "server_stream":
      return printAll(method, session.start(method, input, options));
    case "duplex": {
      const { readable, writable } = session.start(method, undefined, options);
      const sending = sendAll(stdin(method), writable);
      await printAll(method, readable);
      return sending;
    }
  }
}

/** A failure on the way is also the call's, and told there. */
async function sendAll(items: AsyncIterable<unknown>, writable: WritableStream<unknown>): Promise<void> {
  const writer = writable.getWriter();
  try {
    for await (const item of items) await writer.write(item);
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
  }
}

async function printAll(method: AnyMethod, items: AsyncIterable<unknown>): Promise<void> {
  for await (const item of items) print(method, item);
}

function print({ output }: AnyMethod, value: unknown): void {
  if (output === undefined) return;
  if (output === bytesCodec) process.stdout.write(value as Uint8Array);
  else printJson(value);
}

/** Reads the items that the caller streams: lines of JSON, or bytes as they come. */
async function* stdin({ input }: AnyMethod): AsyncGenerator {
  if (input === bytesCodec) {
    yield* process.stdin as AsyncIterable<Uint8Array>;
    return;
  }
  let number = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    number++;
    if (line.trim() === "") continue;
    try {
      yield JSON.parse(line) as unknown;
    } catch (error) {
      throw new RpcError("invalid_argument", `line ${number} of stdin is no JSON: ${(error as Error).message}`);
    }
  }
}
