import type { SharedPortOptions, SharedPorts } from "./workers/shared-ports.js";

/**
 * Shares UDP ports with the workers of a program that forks them itself, by node:cluster: call it in the primary, before it forks, and `serve` with the same `listen` in
 * each worker. Packets find their worker as with `serve({ workers })`. Rejects with a `TransportError` where a port cannot be had.
 */
export async function shareUdpPorts(options: SharedPortOptions = {}): Promise<SharedPorts> {
  return (await import("./workers/shared-ports.js")).sharePorts(options);
}
