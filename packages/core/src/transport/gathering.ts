import { FrameWriter } from "../wire/writer.js";
import { young } from "../young.js";
import type { Channel } from "./channel.js";

/** Microtasks that a flush waits for the next frame. One step of an asynchronous generator takes about three. */
const LINGER = 4;

/** A resolved promise: its `then` schedules a microtask faster than `queueMicrotask` does in Node. */
const settled: Promise<void> = /* @__PURE__ */ Promise.resolve();

/** Collects the frames that a channel sends in one turn of the event loop, and sends them in one write. */
export class Gathering {
  readonly writer: FrameWriter = new FrameWriter();
  private readonly channel: Channel;
  scheduled = false;
  /** Number of microtasks to wait for further frames. */
  private patience = 0;
  private heldBytes = 0;
  private readonly flushLater: () => void = young(() => {
    if (this.isFilling()) {
      void settled.then(this.flushLater);
      return;
    }
    this.scheduled = false;
    this.channel.flushNow();
  });

  constructor(channel: Channel) {
    this.channel = channel;
  }

  schedule(): void {
    this.scheduled = true;
    this.heldBytes = 0;
    void settled.then(this.flushLater);
  }

  /** Returns true if frames were added within the last `LINGER` microtasks, so that it is worth waiting for more. */
  private isFilling(): boolean {
    const { position } = this.writer;
    if (position === 0) return false;
    if (position !== this.heldBytes) {
      this.heldBytes = position;
      this.patience = LINGER;
    }
    return this.patience-- > 0;
  }
}

export function gatherFrames(channel: Channel): void {
  if (!channel.gathers) channel.gather(new Gathering(channel));
}
