import type { NativeEndpoint } from "./native.js";

const open = new Set<NativeEndpoint>();

/**
 * Closes all sessions when the process exits by itself: through `process.exit`, at its end, or after an uncaught error.
 * Peers would otherwise wait for their idle timeouts. The function is not called if a signal kills the process.
 */
function onExit(): void {
  for (const native of open) native.closeSessions(0, new Uint8Array(0));
}

/**
 * Registers an open endpoint, so that its sessions are closed when the process exits. Call the returned function when
 * the endpoint has closed.
 */
export function closeOnExit(native: NativeEndpoint): () => void {
  if (open.size === 0) process.on("exit", onExit);
  open.add(native);
  return () => {
    open.delete(native);
    if (open.size === 0) process.off("exit", onExit);
  };
}
