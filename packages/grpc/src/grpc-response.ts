import { Metadata, RpcError } from "@quicrpc/core";
import { codeFromNumber, type FedItems, fullName, type ItemSink } from "@quicrpc/core/internal";
import type { ContentCoding } from "@quicrpc/http";
import {
  type BodySource,
  type Envelope,
  ENVELOPE_COMPRESSED,
  EnvelopeReader,
  failureLater,
  type HttpClientCall,
  readHeaders,
  requireSmall,
  unreached,
} from "@quicrpc/http/internal";
import { decodedMessage, FLAG_TRAILERS, MAX_RECEIVED_STATUS, readDetails } from "./status.js";

const STATUS = "grpc-status";
/** Number of received bytes above which the server is paused, unless they are the beginning of a message. */
const MAX_WAITING = 65_536;
/** Number of decoded messages that the application has not read, above which no more are decoded. */
const MAX_AHEAD = 16;
/** Number of bytes of such messages, after decompression, above which no more are decoded. */
const MAX_AHEAD_BYTES = 65_536;

/** The response to a call. It receives the parts of a response in any pieces, and passes the messages to a sink. */
export class GrpcResponse {
  responseMetadata: Metadata = new Metadata();
  trailers: Metadata = new Metadata();
  hasEnded = false;
  private readonly call: HttpClientCall;
  private readonly source: Pick<BodySource, "pause" | "resume">;
  /** Whether trailers are in the body. */
  private readonly isWeb: boolean;
  private readonly deadline: number;
  private readonly envelopes: EnvelopeReader;
  private sink: ItemSink<unknown> | undefined = undefined;
  private hasHead = false;
  /** Undefined if the response is not one of gRPC. */
  private head: Headers | undefined = undefined;
  private tail: Headers | undefined = undefined;
  private isEmpty = true;
  private ahead = 0;
  private aheadBytes = 0;
  /** Why the metadata of a failed call is left out. */
  private hint: string | undefined = undefined;
  /** True while messages are passed on, or one is decompressed. */
  private isBusy = false;
  private isPaused = false;

  constructor(call: HttpClientCall, isWeb: boolean, source: Pick<BodySource, "pause" | "resume">) {
    this.call = call;
    this.source = source;
    this.isWeb = isWeb;
    this.deadline = Date.now() + Number(call.headers.get("connect-timeout-ms") ?? Infinity);
    const flags = ENVELOPE_COMPRESSED | (isWeb ? FLAG_TRAILERS : 0);
    this.envelopes = new EnvelopeReader(call.client.limits.maxFrameBytes, flags);
  }

  /** Passes the messages to `sink`, and the end if the call succeeds. If the call fails, it fails with the error. */
  feed(sink: ItemSink<unknown>): void {
    this.sink = sink;
    const items: FedItems = {
      resumed: (size) => {
        this.ahead--;
        this.aheadBytes -= size;
        this.read();
      },
      leaveOnce: () => this.call.fail(new RpcError("cancelled", "the caller wants no more items")),
    };
    sink.start(items);
    this.read();
  }

  private get isStream(): boolean {
    const { kind } = this.call.method;
    return kind === "server_stream" || kind === "duplex";
  }

  /** Resolves with the only message. If the call fails, stays pending. */
  only(): Promise<unknown> {
    const { call } = this;
    return new Promise((resolve) => {
      const fail = (what: string): void => {
        const text = `the answer of ${fullName(call.method)} has ${what}, instead of one`;
        call.fail(new RpcError("unimplemented", text));
      };
      let only: unknown;
      this.feed({
        start() {},
        push: (item, size) => {
          if (this.ahead > 1) fail("more than one message");
          only = item;
          // The rest of the response is read whatever the size of this message is.
          this.aheadBytes -= size;
        },
        end: () => (this.isEmpty ? fail("no message") : resolve(only)),
      });
    });
  }

  /** Returns false if the response is not one of gRPC. Its body is then read for its error. */
  onHead(response: Response | { readonly status: number; readonly headers: Headers }): boolean {
    this.hasHead = true;
    const { call, isWeb } = this;
    const { status, headers } = response;
    const type = isWeb ? /^application\/grpc-web(\+proto)?($|;)/ : /^application\/grpc(\+proto)?($|;)/;
    if (!type.test(headers.get("content-type") ?? "") || (status !== 200 && !headers.has(STATUS))) {
      const failed = response instanceof Response ? response : new Response(null, { status, headers });
      failureLater(call, failed, this.isStream).then(
        (error) => call.fail(error),
        (error: unknown) => call.fail(error),
      );
      return false;
    }
    try {
      this.responseMetadata = this.metadataOf(headers, Infinity);
      call.heard(this.responseMetadata, undefined);
      this.head = headers;
      this.read();
    } catch (error) {
      call.fail(error);
    }
    return true;
  }

  /** May be called before `onHead`. */
  onBytes(piece: Uint8Array): void {
    if (this.call.over) return;
    this.envelopes.push(piece);
    this.read();
  }

  onTrailers(trailers: Headers): void {
    this.tail = trailers;
  }

  /** Called when all of the response has arrived, or the server has reset the stream without an error. */
  onEnd(): void {
    if (!this.hasHead) return this.onLost();
    this.hasEnded = true;
    this.call.answered();
    this.read();
  }

  /** Called when the connection has failed. A server may end a request at its deadline, before this side's timer does. */
  onLost(given?: unknown): void {
    const { call } = this;
    if (this.hasEnded || call.over) return;
    call.answered();
    const error = given ?? new Error("the server has ended the request");
    const known = unreached(error, call.client.peer);
    if (error instanceof RpcError && !this.hasHead) call.fail(error);
    else if (Date.now() >= this.deadline)
      call.fail(new RpcError("deadline_exceeded", "the server ended the request at its deadline", { cause: error }));
    else if (this.head === undefined) call.fail(known);
    else {
      const text = `the answer of ${fullName(call.method)} is not complete: ${known.message}`;
      call.fail(new RpcError("unavailable", text, { cause: error }));
    }
  }

  /** Passes on the messages that have arrived, as far as the application has read them. */
  private read(): void {
    const { call, envelopes, sink } = this;
    if (!this.isBusy && sink !== undefined && this.head !== undefined) {
      this.isBusy = true;
      try {
        while (!this.isFull && !call.over) {
          const envelope = call.read(() => envelopes.next());
          if (envelope === undefined) {
            if (this.hasEnded) this.finish(sink);
            break;
          }
          const coding = this.codingOf(envelope);
          if (coding !== undefined && envelope.bytes.length > 0) {
            void this.expand(envelope, coding);
            return;
          }
          this.deliver(envelope);
        }
      } catch (error) {
        call.fail(error);
      }
      this.isBusy = false;
    }
    this.pace();
  }

  private get isFull(): boolean {
    return this.ahead >= MAX_AHEAD || this.aheadBytes >= MAX_AHEAD_BYTES;
  }

  /** Pauses the server while bytes arrive that are not needed yet. */
  private pace(): void {
    const isUnwanted = this.isBusy || this.head === undefined || this.isFull;
    const isPaused = isUnwanted && this.envelopes.held >= MAX_WAITING;
    if (isPaused === this.isPaused) return;
    this.isPaused = isPaused;
    if (isPaused) this.source.pause();
    else this.source.resume();
  }

  /** Returns the compression of a message. Throws `RpcError` `internal` if it was not asked for. */
  private codingOf({ flags }: Envelope): ContentCoding | undefined {
    if ((flags & ENVELOPE_COMPRESSED) === 0) return undefined;
    const name = this.head?.get("grpc-encoding");
    const coding = this.call.client.codings.find((each) => each.name === name);
    if (coding !== undefined) return coding;
    throw this.call.unreadable(new Error(`a message is compressed, and ${JSON.stringify(name)} was not asked for`));
  }

  private async expand({ flags, bytes }: Envelope, coding: ContentCoding): Promise<void> {
    const { call } = this;
    try {
      this.pace();
      const expanded = await coding.decompress(bytes, call.client.limits.maxFrameBytes).catch((error: unknown) => {
        throw call.unreadable(error);
      });
      if (call.over) return;
      this.deliver({ flags, bytes: expanded });
    } catch (error) {
      call.fail(error);
    }
    this.isBusy = false;
    this.read();
  }

  private deliver({ flags, bytes }: Envelope): void {
    const { call, sink } = this;
    const { client, method } = call;
    if (this.isWeb && this.tail !== undefined) {
      throw call.unreadable(new Error("a message follows the trailers"));
    }
    if (flags >= FLAG_TRAILERS) this.tail = call.read(() => readTrailers(bytes, client.limits.maxMetadataBytes));
    else {
      const item = call.read(() => client.decode(method.output, bytes));
      this.isEmpty = false;
      this.ahead++;
      this.aheadBytes += bytes.length;
      sink?.push(item, bytes.length, 0);
    }
  }

  private finish(sink: ItemSink<unknown>): void {
    const { call, envelopes } = this;
    this.sink = undefined;
    if (envelopes.isPartial) throw call.unreadable(new Error("the stream ends within a message"));
    // The end of a response without messages may be in its head.
    const fields = this.tail ?? (this.isEmpty ? this.head : undefined) ?? new Headers();
    const trailers = this.metadataOf(fields, call.client.limits.maxMetadataBytes);
    this.trailers = trailers;
    call.heard(undefined, trailers);
    const status = fields.get(STATUS);
    if (status === "0") {
      if (this.isStream) call.settle();
      sink.end(undefined);
      return;
    }
    const code = status === null ? "unknown" : codeFromNumber(Number(status));
    const message = status === null ? "the response ends without a status" : fields.get("grpc-message");
    const details = readDetails(fields.get("grpc-status-details-bin") ?? "");
    const received = { code, message: decodedMessage(message ?? ""), details };
    const fail = async (): Promise<void> => {
      const { httpErrorOf } = await call.client.later();
      call.fail(httpErrorOf(call, received, "unknown", trailers, false, this.hint), "answered");
    };
    fail().catch((error: unknown) => call.fail(error));
  }

  /**
   * Returns metadata without names that belong to gRPC. If the fields have the status of a failed call, metadata that
   * cannot be read is left out.
   */
  private metadataOf(fields: Headers, maxBytes: number): Metadata {
    try {
      return this.call.read(() => {
        const metadata = readHeaders(Array.from(fields).filter(([name]) => !name.startsWith("grpc-")));
        requireSmall(metadata, maxBytes);
        return metadata;
      });
    } catch (error) {
      if ((fields.get(STATUS) ?? "0") === "0") throw error;
      this.hint = `its metadata is left out: ${RpcError.from(error).message}`;
      return new Metadata();
    }
  }
}

/** Reads the trailers of gRPC-Web. Values that HTTP headers cannot carry are left out. */
function readTrailers(bytes: Uint8Array, maxMetadataBytes: number): Headers {
  if (bytes.length > maxMetadataBytes + MAX_RECEIVED_STATUS) {
    const text = `the trailers have ${bytes.length} bytes, and limits.maxMetadataBytes is ${maxMetadataBytes}`;
    throw new RpcError("resource_exhausted", text);
  }
  const trailers = new Headers();
  for (const line of new TextDecoder().decode(bytes).split("\r\n")) {
    const [, name, value] = /^([!-9;-~]+):(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined || /[^\0-\xff]/.test(value)) continue;
    try {
      trailers.append(name, value);
    } catch (cause) {
      throw new RpcError("internal", `the trailer ${name} is malformed`, { cause });
    }
  }
  return trailers;
}
