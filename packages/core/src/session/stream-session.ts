import type { Carrier } from "../call/carrier.js";
import { SessionLane } from "../call/session-lane.js";
import type { Channel, FrameHandler } from "../transport/channel.js";
import type { TransportSession } from "../transport/session.js";
import { CallingSession } from "./calling-session.js";

/** A session whose calls have streams of their own. Its lanes are for what concerns the session. */
export class StreamSession<Transport extends TransportSession> extends CallingSession<Transport> {
  protected pickOf(): () => Carrier {
    return this.pickStream;
  }

  goaway(stage: number): void {
    try {
      new SessionLane(0, SessionLane.on(this.openStream(), this.settings), this, nothing).goaway(stage);
    } catch {
      // The session has ended.
    }
  }

  onLane(channel: Channel, onOver: () => void): FrameHandler {
    return new SessionLane(1, () => channel, this, onOver);
  }
}

function nothing(): void {}
