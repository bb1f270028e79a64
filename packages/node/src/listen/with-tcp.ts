import { isMissingEngine } from "../transport/failure.js";
import type { IncomingSession, Listener, ListenSettings, ListenTarget } from "./listener.js";

/** Starts a listener. */
export type Listen = (
  target: ListenTarget,
  settings: ListenSettings,
  onIncoming: (incoming: IncomingSession) => void,
) => Promise<Listener>;

/** Number of ports to try until one is free for both protocols. */
const MAX_TRIES = 10;

/**
 * Starts a listener over UDP, and one on the TCP port of the same number if `serve` offers a protocol there. If the
 * engine is missing and optional, only the latter.
 */
export async function listenWithTcp(
  overUdp: Listen,
  ...[target, settings, onIncoming]: Parameters<Listen>
): Promise<readonly Listener[]> {
  const { webSocket, protocols, http } = settings.web;
  const overTcp: Listen = async (...args) => (await import("./web.js")).listenWeb(settings.web)(...args);
  const needsTcp = webSocket || protocols.length > 0 || http !== undefined;
  if (!needsTcp) return [await overUdp(target, settings, onIncoming)];
  try {
    return await listenTwice(overUdp, overTcp, target, settings, onIncoming);
  } catch (error) {
    if (!settings.engineOptional || !isMissingEngine(error)) throw error;
    settings.onError(error, { method: "serve" });
    return [await overTcp({ ...target, path: target.path || "/" }, settings, onIncoming)];
  }
}

/** Starts two listeners on ports with the same number. */
async function listenTwice(
  listen: Listen,
  other: Listen,
  ...[target, settings, onIncoming]: Parameters<Listen>
): Promise<readonly Listener[]> {
  // A worker's UDP port is the group's: only who has bound that can choose another.
  return retryTaken(target.port === 0 && target.member === undefined, async () => {
    const first = await listen(target, settings, onIncoming);
    try {
      const { port } = first.address ?? target;
      const tcpTarget = { ...target, port, path: target.path || "/", sharesPortWithHttp3: first.takesHttp3 === true };
      return [first, await other(tcpTarget, settings, onIncoming)];
    } catch (error) {
      await first.close();
      throw error;
    }
  });
}

/** Retries if the system chose a port whose number is already in use by the other protocol, if it `chooses`. */
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
