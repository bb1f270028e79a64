import type { Connection, ConnectionState } from "@quicrpc/core";
import { useCallback, useSyncExternalStore } from "react";

// #region hook
/** Returns the current state of a connection: `status`, and in `resuming` the streams that wait to resume. */
export function useConnectionState(connection: Connection): ConnectionState {
  const subscribe = useCallback(
    (changed: () => void) => {
      const states = connection.states();
      void (async () => {
        for await (const _ of states) changed();
      })();
      return () => void states.return();
    },
    [connection],
  );
  return useSyncExternalStore(subscribe, () => connection.state);
}
// #endregion hook
