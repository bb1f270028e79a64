import type { NativeEndpoint } from "./native.js";

/** The endpoints of this thread that are open. */
const open = new Set<NativeEndpoint>();

/**
 * A process that exits by itself (`process.exit`, its end, an uncaught error) closes its sessions, as the system does for
 * TCP: otherwise the peers would wait for their idle timeouts. Signals that end it do not get here.
 */
function onExit(): void {
  for (const native of open) native.closeSessions(0, new Uint8Array(0));
}

/** The endpoint is open from now on. Returns what is to be called when it has closed. */
export function closedOnExit(native: NativeEndpoint): () => void {
  if (open.size === 0) process.on("exit", onExit);
  open.add(native);
  return () => {
    open.delete(native);
    if (open.size === 0) process.off("exit", onExit);
  };
}
