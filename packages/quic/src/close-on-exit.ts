import type { NativeEndpoint } from "./native.js";

/** Open endpoints of this thread. */
const open = new Set<NativeEndpoint>();

/**
 * Closes all sessions when the process exits by itself (`process.exit`, its end, an uncaught error), as the system does
 * for TCP. Otherwise peers would wait for their idle timeouts. Signals that kill the process do not get here.
 */
function onExit(): void {
  for (const native of open) native.closeSessions(0, new Uint8Array(0));
}

/** Registers an open endpoint. Call the returned function when it has closed. */
export function closeOnExit(native: NativeEndpoint): () => void {
  if (open.size === 0) process.on("exit", onExit);
  open.add(native);
  return () => {
    open.delete(native);
    if (open.size === 0) process.off("exit", onExit);
  };
}
