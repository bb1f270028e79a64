import { type FileHandle, open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { type CallOptions, RpcError, type Session } from "@quicrpc/core";
import { bytesCodec } from "@quicrpc/core/generated";
import type { RemoteMethod } from "./find-method.js";
import type { InputArguments } from "./input-arguments.js";
import { parseJson } from "./parse-json.js";
import { jsonText } from "./target.js";

/**
 * Destination of a call's response: stdout, or a file. An existing file keeps its content until the response arrives.
 */
export class Output {
  private readonly file: FileHandle | undefined;
  private began = false;

  private constructor(file: FileHandle | undefined) {
    this.file = file;
  }

  /**
   * Opens the file `destination`, or stdout if it is undefined. Rejects with `RpcError` if the file cannot be written,
   * so that no call is made in that case.
   */
  static async to(destination: string | undefined): Promise<Output> {
    if (destination === undefined || destination === "-") return new Output(undefined);
    try {
      return new Output(await open(destination, "a"));
    } catch (error) {
      throw new RpcError("failed_precondition", `cannot write the file of --out: ${(error as Error).message}`);
    }
  }

  async write(chunk: string | Uint8Array): Promise<void> {
    const { file } = this;
    if (file === undefined) {
      if (!process.stdout.write(chunk)) await new Promise<void>((drained) => process.stdout.once("drain", drained));
      return;
    }
    try {
      if (!this.began) await file.truncate(0);
      this.began = true;
      await file.appendFile(chunk);
    } catch (error) {
      throw new RpcError("failed_precondition", `cannot write the file of --out: ${(error as Error).message}`);
    }
  }

  async end(): Promise<void> {
    await this.file?.close();
  }
}

/** One call of the `call` command, with its input and output. */
export class CallRun {
  private readonly caller: Pick<Session, "start">;
  private readonly remote: RemoteMethod;
  private readonly out: Output;
  private readonly options: CallOptions;

  constructor(caller: Pick<Session, "start">, remote: RemoteMethod, out: Output, options: CallOptions) {
    this.caller = caller;
    this.remote = remote;
    this.out = out;
    this.options = options;
  }

  async run(input: InputArguments): Promise<void> {
    const { caller, remote, options } = this;
    const { method } = remote;
    // The server has stated the method's kind, and the descriptor was created for this kind.
    switch (method.kind) {
      case "unary":
        return this.print(await caller.start(method, input.message(remote), options));
      case "notify":
        return caller.start(method, input.message(remote), options);
      case "client_stream":
        return this.print(await caller.start(method, this.items(input), options));
      case "server_stream":
        return this.printAll(caller.start(method, input.message(remote), options));
      case "duplex": {
        const items = this.items(input);
        const { readable, writable } = caller.start(method, undefined, options);
        const sending = sendAll(items, writable);
        await this.printAll(readable);
        return sending;
      }
    }
  }

  private async printAll(items: AsyncIterable<unknown>): Promise<void> {
    for await (const item of items) await this.print(item);
  }

  private async print(value: unknown): Promise<void> {
    const { method, toOutput } = this.remote;
    if (method.output === undefined) return;
    await this.out.write(method.output === bytesCodec ? (value as Uint8Array) : `${jsonText(toOutput(value))}\n`);
  }

  /** Returns the items of the caller's stream: those on the command line, otherwise those read from stdin. */
  private items(input: InputArguments): AsyncIterable<unknown> | Iterable<unknown> {
    return input.items(this.remote) ?? this.stdin();
  }

  /** Reads the items of a stream from stdin: one JSON value on each line, or bytes as they arrive. */
  private async *stdin(): AsyncGenerator {
    if (this.remote.method.input === bytesCodec) {
      yield* process.stdin as AsyncIterable<Uint8Array>;
      return;
    }
    let number = 0;
    for await (const line of createInterface({ input: process.stdin })) {
      number++;
      if (line.trim() === "") continue;
      let item: unknown;
      try {
        item = parseJson(line);
      } catch (error) {
        throw new RpcError(
          "invalid_argument",
          `line ${number} of stdin is not valid JSON: ${(error as Error).message}`,
        );
      }
      yield this.remote.toInput(item);
    }
  }
}

/** Sends items to a call and ends its input. Failures are ignored, because the call itself reports them. */
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
