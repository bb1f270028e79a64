import { RpcError } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import { bytePieceOf, type ItemTarget } from "@quicrpc/core/internal";
import type { ContentCoding } from "../protocol/compression.js";
import { ENVELOPE_COMPRESSED, writeEnvelope } from "../protocol/envelope.js";
import { encodeMessage } from "../protocol/message.js";
import type { HttpClientCall } from "./http-call.js";

/** The connection that sends a body, such as the controller of a stream that `fetch` reads. */
export type BodySink = Pick<ReadableStreamDefaultController<Uint8Array>, "desiredSize" | "enqueue" | "close" | "error">;

/** The items in the body of a request. */
export class UploadedItems implements ItemTarget {
  readonly rawPiece: number | undefined;
  readonly flow: ItemTarget["flow"];
  over = false;
  onGivenUp: (() => void) | undefined = undefined;
  private readonly call: HttpClientCall;
  private readonly codec: MessageCodec<unknown> | undefined;
  private readonly sink: BodySink;
  private onReady: (() => void) | undefined;
  /** Resolves when the messages so far are compressed, one after the other; undefined if none is being compressed. */
  private compressing: Promise<void> | undefined;

  constructor(call: HttpClientCall, sink: BodySink) {
    const { client, method } = call;
    this.call = call;
    this.sink = sink;
    this.codec = client.codec.of(method.input);
    this.rawPiece = bytePieceOf(this.codec, client.limits);
    const isReady = (): boolean => this.over || (this.compressing === undefined && (this.sink.desiredSize ?? 0) > 0);
    this.flow = {
      get ready() {
        return isReady();
      },
      wait: (resume) => {
        if (isReady()) resume();
        else this.onReady = resume;
      },
    };
  }

  item(item: unknown): void {
    if (this.over) return;
    const { client, options } = this.call;
    const bytes = encodeMessage(this.codec, item, client.limits.maxFrameBytes);
    const coding = client.codingFor(bytes.length, options?.compress);
    if (coding === undefined && this.compressing === undefined) this.enqueue(0, bytes);
    else this.compress(coding, bytes);
  }

  end(): void {
    if (this.over) return;
    const close = (): void => {
      if (this.over) return;
      this.over = true;
      this.onGivenUp = undefined;
      this.sink.close();
    };
    if (this.compressing === undefined) close();
    else void this.compressing.then(close);
  }

  fail(error: unknown): void {
    if (this.over) return;
    // The item source has failed or was stopped, so it need not be notified.
    this.onGivenUp = undefined;
    this.stop();
    this.call.fail(RpcError.from(error, "unknown"));
  }

  stop(): void {
    if (this.over) return;
    this.over = true;
    if (!this.call.lingers) this.fault();
    this.onGivenUp?.();
    this.resume();
  }

  /** Ends the body with an error, so that the server treats the request as incomplete. */
  private fault(): void {
    try {
      this.sink.error(new RpcError("cancelled", "the call is over"));
    } catch {
      // The body was already cancelled.
    }
  }

  private enqueue(flags: number, bytes: Uint8Array): void {
    if (!this.over) this.sink.enqueue(writeEnvelope({ flags, bytes }));
  }

  private compress(coding: ContentCoding | undefined, bytes: Uint8Array): void {
    const before = this.compressing;
    const step = async (): Promise<void> => {
      await before;
      if (coding === undefined) this.enqueue(0, bytes);
      else this.enqueue(ENVELOPE_COMPRESSED, await coding.compress(bytes));
    };
    const compressing = step()
      .catch((error: unknown) => this.fail(error))
      .then(() => {
        if (this.compressing === compressing) this.compressing = undefined;
        if (this.flow.ready) this.resume();
      });
    this.compressing = compressing;
  }

  /** Called when the sink has room again. */
  resume(): void {
    const resume = this.onReady;
    if (resume === undefined || !this.flow.ready) return;
    this.onReady = undefined;
    resume();
  }
}
