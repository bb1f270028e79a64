import { isMissingEngine } from "../transport/failure.js";
import type { IncomingSession, Listener, ListenSettings, ListenTarget } from "./listener.js";

/** Starts the listener of a target. */
export type Listen = (
  target: ListenTarget,
  settings: ListenSettings,
  onIncoming: (incoming: IncomingSession) => void,
) => Promise<Listener>;

/** Maximum number of ports to try until one is free for both UDP and TCP. */
const MAX_TRIES = 10;

/**
 * Starts a UDP listener, and a TCP listener on the same port number if the server offers a protocol there. If the
 * native engine is missing but optional, starts only the TCP listener.
 */
export async function listenWithTcp(
  overUdp: Listen,
  ...[target, settings, onIncoming]: Parameters<Listen>
): Promise<readonly Listener[]> {
  const { webSocket, protocols, http } = settings.web;
  const overTcp: Listen = async (target, ...rest) =>
    (await import("./web.js")).listenWeb(settings.web)({ ...target, path: target.path || "/" }, ...rest);
  const needsTcp = webSocket || protocols.length > 0 || http !== undefined;
  if (!needsTcp) return [await overUdp(target, settings, onIncoming)];
  try {
    return await listenTwice(overUdp, overTcp, target, settings, onIncoming);
  } catch (error) {
    if (!settings.engineOptional || !isMissingEngine(error)) throw error;
    settings.onError(error, { method: "serve" });
    return [await overTcp(target, settings, onIncoming)];
  }
}

/** Starts a UDP and a TCP listener on the same port number. */
async function listenTwice(
  overUdp: Listen,
  overTcp: Listen,
  ...[target, settings, onIncoming]: Parameters<Listen>
): Promise<readonly Listener[]> {
  // A worker's UDP port belongs to its group, so only the process that has bound the port can choose another one.
  return retryTaken(target.port === 0 && target.member === undefined, async () => {
    const first = await overUdp(target, settings, onIncoming);
    try {
      const { port } = first.address ?? target;
      const tcpTarget = { ...target, port, sharesPortWithHttp3: first.takesHttp3 === true };
      return [first, await overTcp(tcpTarget, settings, onIncoming)];
    } catch (error) {
      await first.close();
      throw error;
    }
  });
}

/**
 * Calls `start` again with another port if the address is in use and the system `chooses` the port. The number of
 * attempts is limited.
 */
export async function retryTaken<T>(chooses: boolean, start: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (!chooses || !isTaken(error) || tries === MAX_TRIES) throw error;
    }
  }
}

function isTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EADDRINUSE";
}
