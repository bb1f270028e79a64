import { isIP } from "node:net";

/** Milliseconds that the system gets to report a closed port. On this machine it does so at once. */
const PATIENCE_MS = { here: 50, elsewhere: 1000 };
/**
 * Number of answers required. An attacker who guesses the probe's source port can forge an answer from the network, so
 * each probe uses another port.
 */
const PROBES = { here: 1, elsewhere: 2 };
/** A short header without content, which every QUIC endpoint drops. */
const PROBE: Uint8Array = Uint8Array.of(0x40);

/** Returns true for an address of this machine. */
export function isLoopback(host: string): boolean {
  return host === "::1" || /^(::ffff:)?127\./.test(host);
}

/**
 * Returns true if the system reports that nothing listens on a UDP port (ICMP port unreachable), and false without a
 * report. The system reports it only to connected sockets, and QUIC's is not connected, so each probe uses its own
 * socket.
 */
export async function isPortClosed(host: string, port: number): Promise<boolean> {
  const where = isLoopback(host) ? "here" : "elsewhere";
  for (let probe = 0; probe < PROBES[where]; probe++) {
    if (!(await probed(host, port, PATIENCE_MS[where]))) return false;
  }
  return true;
}

/** Sends one probe. Returns true if the port was reported as closed. */
async function probed(host: string, port: number, patienceMs: number): Promise<boolean> {
  // Loaded when it is needed, which most processes never do.
  const { createSocket } = await import("node:dgram");
  return new Promise((resolve) => {
    const socket = createSocket(isIP(host) === 6 ? "udp6" : "udp4");
    let deadline: NodeJS.Immediate | undefined;
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      clearImmediate(deadline);
      socket.off("error", onError).on("error", () => {});
      socket.close();
      resolve(closed);
    };
    const onError = ({ code }: NodeJS.ErrnoException): void => finish(code === "ECONNREFUSED");
    // If the process was busy, its timers run before the messages that arrived in the meantime.
    const timer = setTimeout(() => (deadline = setImmediate(() => finish(false)).unref()), patienceMs);
    timer.unref();
    socket.unref();
    socket.on("error", onError);
    socket.connect(port, host, () => socket.send(PROBE));
  });
}
