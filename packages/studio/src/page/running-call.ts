import { type CallOptions, type Caller, interceptCaller, Metadata, RpcError } from "@quicrpc/core";
import { type CallTimings, callTimings } from "@quicrpc/core/measure";
import { type BatchStep, batchTimings, type ServedTimings } from "@quicrpc/services";
import type { AnyMethod } from "@quicrpc/core/generated";
import { CALL_COMPRESS, CALL_NAME, CALL_VIA } from "../carrier.js";
import type { ShownMethod } from "./catalog.js";
import { ItemLog } from "./item-log.js";
import { Observed } from "./observed.js";
import { OutgoingMessages } from "./outbox.js";
import { download, save, type Transfer, upload, withoutBlobs } from "./transfers.js";

const ASK_MS = 5000;
/** Milliseconds of reading items after which the page handles its other events. */
const TURN_MS = 8;

/** A call that the user wants to make. */
export interface CallRequest {
  /** Input message, or the first message of a stream. Undefined if there is none yet. */
  readonly input: unknown;
  readonly files?: Readonly<Record<string, File>>;
  readonly metadata: readonly (readonly [name: string, value: string])[];
  readonly timeoutMs?: number | undefined;
  readonly via?: "lane" | "stream" | undefined;
  readonly compress?: true | undefined;
  /** True if another process carries the call. That process receives the call's name, and how to send the call. */
  readonly isCarried: boolean;
  /** Method of the server that reports the timings of calls by name. Undefined if the server has none. */
  readonly served: AnyMethod | undefined;
}

/** A call that has been started, as the page shows it. */
export class RunningCall extends Observed {
  readonly method: ShownMethod;
  readonly name: string = crypto.randomUUID();
  status: "running" | "ok" | "failed" = "running";
  error: RpcError | undefined = undefined;
  readonly messages: ItemLog = new ItemLog();
  readonly outbox: OutgoingMessages = new OutgoingMessages();
  sent = 0;
  readonly transfers: Transfer[] = [];
  headers: readonly (readonly [string, string])[] | undefined = undefined;
  trailers: readonly (readonly [string, string])[] | undefined = undefined;
  /** Timings measured in this page, from the click to the end of the call. */
  timings: Partial<CallTimings> | undefined = undefined;
  /** Timings measured in the process that carries the call. Undefined if there is none. */
  carried: Partial<CallTimings> | undefined = undefined;
  /** Timings measured in the server. Undefined if it reports none. */
  served: Partial<ServedTimings> | undefined = undefined;
  /** Steps of the call, if it is a batch that has ended. */
  steps: readonly BatchStep[] | undefined = undefined;
  totalMs: number | undefined = undefined;
  paused = false;
  private readonly began = performance.now();
  private readonly abort = new AbortController();
  private continueReading: () => void = () => {};

  constructor(caller: Caller, method: ShownMethod, request: CallRequest) {
    super();
    this.method = method;
    void this.run(caller, request)
      .then(
        () => this.end("ok", undefined),
        (error: unknown) => this.end("failed", RpcError.from(error)),
      )
      .then(() => this.askServer(caller, request.served));
  }

  get takesInput(): boolean {
    return this.status === "running" && !this.outbox.closed && this.method.streamsInput;
  }

  send(message: unknown): void {
    this.outbox.push(message);
    this.changed();
  }

  halfClose(): void {
    this.outbox.close();
    this.changed();
  }

  cancel(): void {
    this.abort.abort(new RpcError("cancelled", "cancelled in the studio"));
    for (const { stop } of this.transfers) stop?.abort();
    this.resume();
  }

  download(transfer: Transfer): void {
    void save(transfer, () => this.changed());
  }

  /** Stops reading the call's stream. The sender continues until flow control stops it. */
  pause(): void {
    this.paused = true;
    this.changed();
  }

  resume(): void {
    this.paused = false;
    this.continueReading();
    this.changed();
  }

  setCarried(timings: Partial<CallTimings>): void {
    this.carried = timings;
    this.changed();
  }

  private async askServer(caller: Caller, method: AnyMethod | undefined): Promise<void> {
    if (method === undefined) return;
    try {
      this.served = (await caller.start(method, { name: this.name }, { timeoutMs: ASK_MS })) as Partial<ServedTimings>;
      this.changed();
    } catch {
      // The server did not measure this call.
    }
  }

  private async run(caller: Caller, request: CallRequest): Promise<void> {
    const { input, metadata, timeoutMs, via, compress, isCarried, served } = request;
    const { descriptor: method } = this.method;
    const measured = interceptCaller(caller, [
      batchTimings((steps) => {
        this.steps = steps;
      }),
      callTimings((timings) => {
        this.timings = timings;
      }),
    ]);
    const fields = new Metadata();
    for (const [name, value] of metadata)
      fields.append(name, name.endsWith("-bin") ? (bytesOf(value) as never) : value);
    if (isCarried) {
      fields.set(CALL_NAME, this.name);
      if (via !== undefined) fields.set(CALL_VIA, via);
      if (compress === true) fields.set(CALL_COMPRESS, "true");
    }
    if (served !== undefined) fields.set("call-name", this.name);
    const options: CallOptions = {
      metadata: fields,
      timeoutMs,
      ...(!isCarried && { via, compress }),
      signal: this.abort.signal,
      onResponseMetadata: (received) => {
        this.headers = printable(received);
        this.changed();
      },
      onTrailers: (received) => {
        this.trailers = printable(received);
      },
    };
    switch (method.kind) {
      case "unary":
        return this.takeAnswer(await measured.start(method, this.withFiles(input, request.files), options));
      case "notify":
        return measured.start(method, input, options);
      case "client_stream":
        return this.receive(await measured.start(method, this.counted(), options));
      case "server_stream":
        return this.takeAll(measured.start(method, input, options));
      case "duplex": {
        const { readable, writable } = measured.start(method, undefined, options);
        const sending = this.writeMessages(writable);
        await this.takeAll(readable);
        await sending;
      }
    }
  }

  private async takeAll(items: AsyncIterable<unknown>): Promise<void> {
    let turnStart = performance.now();
    for await (const item of items) {
      this.receive(item);
      // Without this pause, reading available items would leave no time for rendering and clicks.
      if (performance.now() - turnStart > TURN_MS) {
        await nextTurn();
        turnStart = performance.now();
      }
      if (this.paused) {
        await new Promise<void>((resolve) => {
          this.continueReading = resolve;
        });
      }
    }
  }

  private withFiles(input: unknown, files: CallRequest["files"] = {}): unknown {
    const messages = Object.entries(files).map(([field, file]) => {
      const transfer = upload(field, file);
      this.transfers.push(transfer);
      const onProgress = (bytes: number): void => {
        Object.assign(transfer, { bytes, status: bytes === file.size ? "done" : "running" });
        this.changed();
      };
      return [field, { content: file, onProgress }] as const;
    });
    return messages.length === 0 ? input : { ...(input as object), ...Object.fromEntries(messages) };
  }

  private takeAnswer(value: unknown): void {
    const { printed, blobs } = withoutBlobs(value);
    for (const [field, blob] of blobs) this.transfers.push(download(field, blob));
    this.receive(printed);
  }

  private receive(value: unknown): void {
    if (this.method.gives === "nothing") return;
    this.messages.push(value, performance.now() - this.began);
    this.changed();
  }

  private async *counted(): AsyncGenerator {
    for await (const message of this.outbox) {
      this.sent++;
      this.messages.push(message, performance.now() - this.began, true);
      this.changed();
      yield message;
    }
  }

  /** Writes the user's messages to the call. Ignores failures, because the call itself reports them. */
  private async writeMessages(writable: WritableStream<unknown>): Promise<void> {
    const writer = writable.getWriter();
    try {
      for await (const message of this.counted()) await writer.write(message);
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => {});
    }
  }

  private end(status: "ok" | "failed", error: RpcError | undefined): void {
    this.status = status;
    this.error = error;
    this.totalMs = performance.now() - this.began;
    if (error !== undefined && error.metadata.size > 0) this.trailers ??= printable(error.metadata);
    this.outbox.close();
    this.changed();
  }
}

/** Resolves after the page has handled its pending events. */
function nextTurn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

function printable(metadata: Metadata): readonly (readonly [string, string])[] {
  return Array.from(metadata.entries(), ([name, value]) => [
    name,
    typeof value === "string" ? value : `${value.length} bytes`,
  ]);
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
