import type { Socket } from "node:net";

/**
 * Returns the error of a socket that has connected to itself, or undefined if it has not. TCP allows that: if no server listens at a port of this machine, the
 * system may choose the same port for the client.
 */
export function selfConnection(socket: Socket): Error | undefined {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (localPort === undefined || localPort !== remotePort || localAddress !== remoteAddress) return undefined;
  const message = `connect ECONNREFUSED ${remoteAddress}:${remotePort}: the socket connected to itself because no server listens there`;
  return Object.assign(new Error(message), { code: "ECONNREFUSED" });
}
