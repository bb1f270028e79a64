import type { Channel } from "../transport/channel.js";

/** Options of keep-alive pings. */
export interface KeepAliveOptions {
  /** Milliseconds of silence after which the peer is pinged. Default 15,000. */
  readonly intervalMs?: number;
  /** Milliseconds after the ping at which the session is lost if the peer is still silent. Default 20,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_INTERVAL_MS = 15_000;
const DEFAULT_TIMEOUT_MS = 20_000;

/** Pings a silent peer, and reports it as lost if it stays silent. It needs one timer, however busy the session is. */
export class KeepAlive {
  private readonly channel: Channel;
  private readonly intervalMs: number;
  private readonly timeoutMs: number;
  private readonly ping: () => void;
  private readonly onSilent: (error: Error) => void;
  private seen = 0;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(channel: Channel, options: KeepAliveOptions, ping: () => void, onSilent: (error: Error) => void) {
    this.channel = channel;
    this.intervalMs = options.intervalMs ?? DEFAULT_INTERVAL_MS;
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.ping = ping;
    this.onSilent = onSilent;
    this.listen();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private listen(): void {
    this.seen = this.channel.signsOfLife;
    this.wait(this.intervalMs, () => {
      if (this.channel.signsOfLife !== this.seen) this.listen();
      else this.challenge();
    });
  }

  private challenge(): void {
    this.ping();
    this.wait(this.timeoutMs, () => {
      if (this.channel.signsOfLife !== this.seen) this.listen();
      else this.onSilent(new Error(`no sign of the peer for ${this.intervalMs + this.timeoutMs} ms (keepAlive)`));
    });
  }

  private wait(ms: number, then: () => void): void {
    this.timer = setTimeout(then, ms);
    // If timers keep a process alive, as in Node, this one must not; the socket does.
    (this.timer as { unref?(): void }).unref?.();
  }
}
