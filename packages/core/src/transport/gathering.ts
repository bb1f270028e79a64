import { FrameWriter } from "../wire/writer.js";
import { young } from "../young.js";

/** Microtasks that a flush waits for a further frame: a step of an asynchronous source takes about three. */
const LINGER = 4;

/** A reaction to it costs less than `queueMicrotask` in Node. */
const settled: Promise<void> = /* @__PURE__ */ Promise.resolve();

/** A channel, which sends frames. */
interface Gathered {
  /** Whether its frames are gathered already. */
  readonly gathers: boolean;
  gather(gathering: Gathering): void;
  flushNow(): void;
}

/** Gathers the frames that a channel sends in one turn of the event loop, so that they leave in one write. */
export class Gathering {
  readonly writer: FrameWriter = new FrameWriter();
  private readonly channel: Gathered;
  scheduled = false;
  /** Number of microtasks still to wait. */
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

  constructor(channel: Gathered) {
    this.channel = channel;
  }

  /** Sends the written data at the end of the turn. */
  schedule(): void {
    this.scheduled = true;
    this.heldBytes = 0;
    void settled.then(this.flushLater);
  }

  /** Whether frames have been added of late. */
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

/** From now on, frames of one turn of the event loop leave `channel` in one write. */
export function gatherFrames(channel: Gathered): void {
  if (!channel.gathers) channel.gather(new Gathering(channel));
}
