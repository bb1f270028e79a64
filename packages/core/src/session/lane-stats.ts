import type { OutgoingCall } from "../call/carrier.js";
import type { StreamedCall } from "../client/server-stream.js";
import type { TransportSession } from "../transport/session.js";
import type { LaneSession } from "./lane-session.js";

/** Measurements of a session's lanes, streams and credit, by the session itself. A session without lanes knows none of it. */
export interface LaneStats {
  readonly lanes: number | undefined;
  readonly laneCalls: number | undefined;
  readonly streamCalls: number | undefined;
  readonly sendCredit: number | undefined;
  readonly receiveCredit: number | undefined;
  readonly heldBytes: number | undefined;
}

type Parts = Partial<Pick<LaneSession<TransportSession>, "lanes" | "ownStreams" | "budget">>;

/** Reads the tables that a session has anyway: nothing is counted between two readings. */
export function laneStats(session: object): LaneStats {
  const { lanes, ownStreams, budget } = session as Parts;
  const open = lanes && [...lanes].filter(({ ended }) => !ended);
  const calls = open?.flatMap(({ outgoing }) => outgoing.live()) ?? [];
  return {
    lanes: open?.length,
    laneCalls: open && calls.length,
    streamCalls: ownStreams?.made,
    sendCredit: sum(calls.map((call) => streamed(call).items?.flow.credit)),
    receiveCredit: sum(calls.map((call) => streamed(call).receiver?.flow?.credit)),
    heldBytes: budget?.held,
  };
}

/** Returns the streaming parts of a call, if it streams. */
function streamed(call: OutgoingCall): Partial<Pick<StreamedCall, "items" | "receiver">> {
  return call as Partial<StreamedCall>;
}

/** Returns the sum of the known values; undefined if none is known. A sender may overdraw its credit by one message, and then has none. */
function sum(credits: readonly (number | undefined)[]): number | undefined {
  const known = credits.filter((credit) => credit !== undefined);
  return known.length === 0 ? undefined : known.reduce((all, credit) => all + Math.max(0, credit), 0);
}
