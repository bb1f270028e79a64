import type { ItemFlow } from "@quicrpc/core/internal";
import type { AnswerBody, Fields } from "./exchange.js";
import type { RequestBytes } from "./request-bytes.js";

/** Sends the pieces of a response in order, as fast as the client reads them. Pieces may still be being compressed. */
export class AnswerFlow implements ItemFlow {
  private body: AnswerBody | undefined = undefined;
  /** Resolves when all pieces so far are written; undefined if they are. */
  private tail: Promise<void> | undefined = undefined;
  private resume: (() => void) | undefined = undefined;
  private over = false;
  private readonly unsent: RequestBytes;
  /** True if the response data that the client has not read exceeds the memory limit. */
  isCrowded = false;

  /** @param unsent charged for response data that the client has not read */
  constructor(unsent: RequestBytes) {
    this.unsent = unsent;
  }

  start(body: AnswerBody): void {
    this.body = body;
  }

  get ready(): boolean {
    return this.over || (this.tail === undefined && (this.body === undefined || this.body.ready));
  }

  wait(resume: () => void): void {
    this.resume = resume;
    if (this.tail === undefined) this.whenReady();
  }

  write(bytes: Uint8Array): void {
    if (this.tail === undefined) this.send(bytes);
    else this.writeLater(Promise.resolve(bytes));
  }

  /**
   * Sends the bytes with which `piece` resolves, after all earlier pieces.
   * @param onFailed called if `piece` rejects; nothing is sent for it then
   */
  writeLater(piece: Promise<Uint8Array>, onFailed?: (error: unknown) => void): void {
    const { tail } = this;
    const mine = (async () => {
      const [bytes] = await Promise.all([piece, tail]);
      this.send(bytes);
    })()
      .catch((error: unknown) => onFailed?.(error))
      .then(() => {
        if (this.tail !== mine) return;
        this.tail = undefined;
        this.whenReady();
      });
    this.tail = mine;
  }

  finish(trailers?: Fields): void {
    if (this.tail === undefined) this.body?.end(trailers);
    else void this.tail.then(() => this.body?.end(trailers));
  }

  /** Called when the call has ended and its response is no longer wanted. */
  end(): void {
    this.over = true;
    this.wake();
  }

  private send(bytes: Uint8Array): void {
    const { body } = this;
    if (body === undefined) return;
    body.write(bytes);
    if (body.ready) this.unsent.release();
    else if (!this.unsent.take(bytes.length)) this.isCrowded = true;
  }

  private whenReady(): void {
    if (this.resume === undefined) return;
    if (this.ready) {
      this.unsent.release();
      this.wake();
    } else this.body?.whenReady(() => this.whenReady());
  }

  private wake(): void {
    const { resume } = this;
    this.resume = undefined;
    resume?.();
  }
}
