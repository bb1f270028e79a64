import type { SharedPortOptions, SharedPorts } from "./workers/shared-ports.js";

/**
 * Shares UDP ports with workers that a program forks with node:cluster. Call it in the primary before forking, and call
 * `serve` with the same `listen` in each worker. Packets are delivered as with `serve({ workers })`. Rejects with a
 * `TransportError` if a port cannot be bound.
 */
export async function shareUdpPorts(options: SharedPortOptions = {}): Promise<SharedPorts> {
  return (await import("./workers/shared-ports.js")).sharePorts(options);
}
