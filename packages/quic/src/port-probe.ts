import { isIP } from "node:net";

/**
 * Milliseconds to wait for the report that a port is closed, by the location of the address. On this machine the system
 * reports it at once.
 */
const PATIENCE_MS = { here: 50, elsewhere: 1000 };
/**
 * Number of probes that must report a closed port, by the location of the address. Each probe uses another source port.
 * An attacker in the network who guesses a single source port could forge one report.
 */
const PROBES = { here: 1, elsewhere: 2 };
/** Packet to send to the port: the first byte of a QUIC short header, which every QUIC endpoint ignores. */
const PROBE: Uint8Array = Uint8Array.of(0x40);

export function isLoopback(host: string): boolean {
  return host === "::1" || /^(::ffff:)?127\./.test(host);
}

/**
 * Returns true if the system reports that no program listens on a UDP port (ICMP port unreachable), and false if there
 * is no report. Each probe uses a socket of its own, because the system reports this only to connected sockets, and the
 * engine's socket is not connected.
 */
export async function isPortClosed(host: string, port: number): Promise<boolean> {
  const where = isLoopback(host) ? "here" : "elsewhere";
  for (let probe = 0; probe < PROBES[where]; probe++) {
    if (!(await probed(host, port, PATIENCE_MS[where]))) return false;
  }
  return true;
}

/** Sends one probe to a UDP port. Returns true if the system reports that the port is closed. */
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
    // If the process was busy, its timers fire before it handles messages that have already arrived.
    const timer = setTimeout(() => (deadline = setImmediate(() => finish(false)).unref()), patienceMs);
    timer.unref();
    socket.unref();
    socket.on("error", onError);
    socket.connect(port, host, () => socket.send(PROBE));
  });
}
