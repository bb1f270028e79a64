import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";

/** Decides, over all sessions that share it, whether calls are taken. */
export interface LoadShedder {
  /** Why a call that arrives now is refused, with `unavailable`; undefined: it is not. Asked for every call. */
  objection(): string | undefined;
  /** A call that takes its time has begun (1), or is over (-1). */
  onCalls?(change: 1 | -1): void;
}

/** What admission needs of its session. */
export interface AdmissionSettings {
  readonly limits: Limits;
  readonly loadShedder: LoadShedder | undefined;
  /** Whether the session is being drained. */
  isRefusing(): boolean;
  /** No call is in progress any more. */
  onIdle(): void;
}

/** Which calls of the peer are served now, later, or not at all. */
export class Admission {
  private readonly settings: AdmissionSettings;
  private inProgress = 0;
  private bytesInProgress = 0;
  private starting = false;
  private readonly waiting: Set<() => void> = new Set();

  constructor(settings: AdmissionSettings) {
    this.settings = settings;
  }

  /** Calls and notifications in progress, those that wait for their turn included. */
  get calls(): number {
    return this.inProgress + this.waiting.size;
  }

  /** Whether a call that is taken has to wait. */
  get full(): boolean {
    return this.inProgress >= this.settings.limits.maxCalls;
  }

  /** Throws `RpcError` when a request of so many bytes is not taken; no handler has seen it then. */
  requireRoom(bytes: number): void {
    if (this.settings.isRefusing()) throw refusal("unavailable", "the session is being drained");
    this.shed();
    const { maxCalls, maxWaitingCalls, maxBytesInProgress } = this.settings.limits;
    if (this.full && this.waiting.size >= maxWaitingCalls) {
      const queue = maxWaitingCalls === 0 ? "" : ` and ${maxWaitingCalls} wait (limits.maxWaitingCalls)`;
      throw refusal("resource_exhausted", `${maxCalls} calls are in progress (limits.maxCalls)${queue}`);
    }
    if (this.bytesInProgress + bytes > maxBytesInProgress && this.calls > 0) {
      const text = `the requests in progress hold ${this.bytesInProgress} bytes: limits.maxBytesInProgress is ${maxBytesInProgress}`;
      throw refusal("resource_exhausted", text);
    }
  }

  /** The same for a notification: a drain takes it, since nobody could be told that it was not. */
  requireRoomForNotify(): void {
    this.shed();
    if (this.full) {
      throw refusal("resource_exhausted", `${this.inProgress} calls are in progress (limits.maxCalls)`);
    }
  }

  /** A call that takes its time begins. */
  begin(bytes: number): void {
    this.inProgress++;
    this.bytesInProgress += bytes;
    this.settings.loadShedder?.onCalls?.(1);
  }

  /** A call that had begun is over. */
  end(bytes: number): void {
    this.inProgress--;
    this.bytesInProgress -= bytes;
    this.settings.loadShedder?.onCalls?.(-1);
    this.startWaiting();
    this.checkIdle();
  }

  /** Calls `start` when it is the call's turn, after `begin`. */
  wait(bytes: number, start: () => void): () => void {
    this.bytesInProgress += bytes;
    const entry = (): void => {
      this.bytesInProgress -= bytes;
      this.begin(bytes);
      start();
    };
    this.waiting.add(entry);
    return () => {
      if (!this.waiting.delete(entry)) return;
      this.bytesInProgress -= bytes;
      this.checkIdle();
    };
  }

  /** In a loop, since a call that ends at once makes room for the next. */
  private startWaiting(): void {
    if (this.starting) return;
    this.starting = true;
    for (const start of this.waiting) {
      if (this.full) break;
      this.waiting.delete(start);
      start();
    }
    this.starting = false;
  }

  private checkIdle(): void {
    if (this.calls === 0) this.settings.onIdle();
  }

  private shed(): void {
    const objection = this.settings.loadShedder?.objection();
    if (objection !== undefined) throw refusal("unavailable", objection);
  }
}

function refusal(code: "unavailable" | "resource_exhausted", text: string): RpcError {
  return new RpcError(code, text, { refused: true });
}
