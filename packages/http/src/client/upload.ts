import { RpcError } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import { bytePieceOf, type ItemTarget } from "@quicrpc/core/internal";
import type { ContentCoding } from "../protocol/compression.js";
import { ENVELOPE_COMPRESSED, writeEnvelope } from "../protocol/envelope.js";
import { encodeMessage } from "../protocol/message.js";
import type { HttpClientCall } from "./http-call.js";

/** Number of bytes waiting to be sent above which the sender of items is paused. */
const MAX_WAITING = 65_536;

/** The body of a request that streams items. */
export class UploadedItems implements ItemTarget {
  readonly stream: ReadableStream<Uint8Array>;
  readonly rawPiece: number | undefined;
  readonly flow: ItemTarget["flow"];
  over = false;
  onGivenUp: (() => void) | undefined = undefined;
  private readonly call: HttpClientCall;
  private readonly codec: MessageCodec<unknown> | undefined;
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  private onReady: (() => void) | undefined;
  /** Resolves when the messages so far are compressed, one after the other; undefined if none is being compressed. */
  private compressing: Promise<void> | undefined;

  constructor(call: HttpClientCall) {
    const { client, method } = call;
    this.call = call;
    this.codec = client.codec.of(method.input);
    this.rawPiece = bytePieceOf(this.codec, client.limits);
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.resume(),
        // The server has stopped reading or the request has failed. The response shows which.
        cancel: () => this.stop(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_WAITING }),
    );
    const isReady = (): boolean =>
      this.over || (this.compressing === undefined && (this.controller.desiredSize ?? 0) > 0);
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
      this.controller.close();
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

  /** Stops sending items. */
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
      this.controller.error(new RpcError("cancelled", "the call is over"));
    } catch {
      // The body was already cancelled.
    }
  }

  private enqueue(flags: number, bytes: Uint8Array): void {
    if (!this.over) this.controller.enqueue(writeEnvelope({ flags, bytes }));
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

  private resume(): void {
    const resume = this.onReady;
    if (resume === undefined || !this.flow.ready) return;
    this.onReady = undefined;
    resume();
  }
}
