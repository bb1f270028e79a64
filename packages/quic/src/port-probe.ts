import { isIP } from "node:net";

/** How long the system has to say that a port is closed: on this machine it does so at once. */
const PATIENCE_MS = { here: 50, elsewhere: 1000 };
/**
 * Answers that are believed. One from the network may be forged by whoever guesses the port that the probe left from; each
 * leaves from another one.
 */
const PROBES = { here: 1, elsewhere: 2 };
/** A short header and nothing behind it: every QUIC endpoint drops it. */
const PROBE: Uint8Array = Uint8Array.of(0x40);

/** Whether an address is of this machine itself. */
export function isLoopback(host: string): boolean {
  return host === "::1" || /^(::ffff:)?127\./.test(host);
}

/**
 * Whether nobody listens at a UDP port, as far as the system says so (ICMP port unreachable). It only tells a socket that
 * is connected, and QUIC's is not: so each probe has its own. False where nothing was said.
 */
export async function isPortClosed(host: string, port: number): Promise<boolean> {
  const where = isLoopback(host) ? "here" : "elsewhere";
  for (let probe = 0; probe < PROBES[where]; probe++) {
    if (!(await probed(host, port, PATIENCE_MS[where]))) return false;
  }
  return true;
}

/** Whether one probe was answered so. */
async function probed(host: string, port: number, patienceMs: number): Promise<boolean> {
  // Loaded when it is needed, which most processes never do.
  const { createSocket } = await import("node:dgram");
  return new Promise((resolve) => {
    const socket = createSocket(isIP(host) === 6 ? "udp6" : "udp4");
    let late: NodeJS.Immediate | undefined;
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      clearImmediate(late);
      socket.off("error", onError).on("error", () => {});
      socket.close();
      resolve(closed);
    };
    const onError = ({ code }: NodeJS.ErrnoException): void => finish(code === "ECONNREFUSED");
    // Where the process was busy, its timers come before what has arrived meanwhile.
    const timer = setTimeout(() => (late = setImmediate(() => finish(false)).unref()), patienceMs);
    timer.unref();
    socket.unref();
    socket.on("error", onError);
    socket.connect(port, host, () => socket.send(PROBE));
  });
}
