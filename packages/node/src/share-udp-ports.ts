import type { SharedPortOptions, SharedPorts } from "./workers/shared-ports.js";

/**
 * Shares UDP ports with workers that the application forks with node:cluster. Call this function in the primary before
 * forking, and call `serve` with the same option `listen` in each worker. Packets are distributed as with `serve({
 * workers })`. Rejects with a `TransportError` if a port cannot be opened.
 */
export async function shareUdpPorts(options: SharedPortOptions = {}): Promise<SharedPorts> {
  return (await import("./workers/shared-ports.js")).sharePorts(options);
}
