// Where a call's time goes: see docs/monitoring.md.
import { type Caller, type Connection, interceptCaller, retry } from "@quicrpc/core";
import { type CallTimings, callTimings, sessionStats } from "@quicrpc/core/measure";

export function timedCaller(connection: Connection, record: (method: string, timings: CallTimings) => void): Caller {
  // #region timings
  const measured = interceptCaller(connection, [
    retry(),
    callTimings((timings, call) => record(call.method.name, timings)),
  ]);
  // #endregion timings
  return measured;
}

export async function showStats({ session }: Connection): Promise<void> {
  // #region stats
  // connection.session: undefined while there is none
  if (session !== undefined) {
    const { rttMs, lostPackets, congestionWindow } = await sessionStats(session);
    console.log(`${rttMs} ms, ${lostPackets} packets lost, window ${congestionWindow}`);
  }
  // #endregion stats
}
