import type { CallContext, Router } from "@quicrpc/core";
import { type CarrierEvent, watchCarrier } from "./carrier.js";
import { NetworkWatch, SAMPLE_MS, type WatchedConnection } from "./network-watch.js";

/** Maximum number of events that wait for a page. Older events are dropped. */
const MAX_WAITING = 1000;

/** A page whose calls this process carries. */
export class CarrierPage {
  readonly router: Router;
  private readonly connection: WatchedConnection;
  private readonly first: CarrierEvent;
  private waiting: CarrierEvent[] = [];
  private wakeReader: () => void = () => {};
  private isOver = false;

  constructor(connection: WatchedConnection, first: CarrierEvent) {
    this.connection = connection;
    this.first = first;
    const handler = (_: unknown, { signal }: CallContext): AsyncGenerator<CarrierEvent> => this.watch(signal);
    this.router = { methods: [{ method: watchCarrier, handler }] };
  }

  send(event: CarrierEvent): void {
    if (this.waiting.length >= MAX_WAITING) this.waiting.shift();
    this.waiting.push(event);
    this.wakeReader();
  }

  /** Ends the stream of events to the page. The page then opens another stream on its next session. */
  end(): void {
    this.isOver = true;
    this.wakeReader();
  }

  private async *watch(signal: AbortSignal): AsyncGenerator<CarrierEvent> {
    const network = new NetworkWatch(this.connection);
    yield this.first;
    const sample = async (): Promise<void> => this.send({ type: "network", ...(await network.sample()) });
    const timer = setInterval(() => void sample(), SAMPLE_MS);
    const end = (): void => this.wakeReader();
    signal.addEventListener("abort", end);
    try {
      await sample();
      while (!signal.aborted && !this.isOver) {
        const events = this.waiting;
        this.waiting = [];
        yield* events;
        if (this.waiting.length > 0 || signal.aborted || this.isOver) continue;
        await new Promise<void>((resolve) => {
          this.wakeReader = resolve;
        });
      }
    } finally {
      clearInterval(timer);
      signal.removeEventListener("abort", end);
    }
  }
}
