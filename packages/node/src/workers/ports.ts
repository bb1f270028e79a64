import { PortGroup } from "@quicrpc/quic";
import { isOverUdp, type ProvidedTarget, urlOf } from "../listen/listen.js";
import { warnOfBlocking } from "../listen/systemd.js";
import type { ServeSettings } from "../serve-options.js";
import { transportError } from "../transport/failure.js";

/** Name of the function that has opened ports for workers in this process. */
let owner: string | undefined;

/**
 * Marks this process as the primary of workers until the returned function is called. Throws `TypeError` if another
 * function has already done so.
 */
export function claimWorkers(caller: string): () => void {
  if (owner === caller) throw new TypeError(`${caller} can only be called once in a process`);
  if (owner !== undefined) {
    throw new TypeError(`${caller} and ${owner} cannot be used in the same process`);
  }
  owner = caller;
  return () => void (owner = undefined);
}

/** Opens the UDP ports, or uses passed sockets. Each port has one socket for each worker. */
export function bindPorts(
  { connectionIds }: Pick<ServeSettings, "connectionIds">,
  targets: readonly ProvidedTarget[],
  places: number,
): readonly PortGroup[] {
  const ports: PortGroup[] = [];
  const ids = connectionIds === undefined ? {} : { connectionIds };
  for (const target of targets) {
    if (!isOverUdp(target)) continue;
    const { host, port, datagramDescriptors: descriptors } = target;
    try {
      if (descriptors === undefined) {
        ports.push(PortGroup.bind({ port, places, ...(host !== undefined && { host }), ...ids }));
      } else {
        warnOfBlocking(descriptors);
        ports.push(PortGroup.inherit({ descriptors, places, ...ids }));
      }
    } catch (error) {
      for (const bound of ports) bound.close();
      throw transportError(error, { action: "listen on", url: urlOf(target) });
    }
  }
  return ports;
}
