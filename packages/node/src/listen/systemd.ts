import { fstatSync, readFileSync } from "node:fs";

/** The first descriptor that systemd passes (sd_listen_fds(3)). */
const FIRST_DESCRIPTOR = 3;
/** `O_NONBLOCK` as Linux writes it. */
const NON_BLOCKING = 0o4000;

/** A port or path whose sockets systemd has passed to this process. */
export interface PassedPort {
  /** The scheme of its URL, which is what its sockets are called. */
  readonly scheme: string;
  /** The path in the URL; of a Unix socket its own. */
  readonly path: string;
  readonly descriptor: number | undefined;
  readonly datagramDescriptors: readonly number[] | undefined;
}

/** A socket that systemd has passed to this process, or to the primary that this one is a worker of. */
export interface PassedSocket {
  /** The descriptor in the process that it was passed to. */
  readonly descriptor: number;
  readonly name: string;
  /** The local address of a socket over UDP, as the system writes it. */
  readonly datagrams: string | undefined;
  /** A Unix socket's path. */
  readonly path: string | undefined;
}

/**
 * The ports that `systemd:`, `systemd:quic` or `systemd:wss/path` names, of the sockets that were passed: by default to this process. Throws
 * `TypeError` where there are none, or they cannot be what they are called.
 */
export function passedPorts(
  { pathname }: URL,
  sockets: readonly PassedSocket[] = passedSockets(),
): readonly PassedPort[] {
  const [, wanted = "", path = ""] = /^([^/]*)(.*)$/.exec(pathname) ?? [];
  const found = sockets.filter(({ name }) => wanted === "" || name === wanted);
  if (found.length === 0) {
    throw new TypeError(
      `systemd has passed no socket called "${wanted}" to this process: the .socket unit says FileDescriptorName=${wanted || "quic"}, and Sockets= of the service names the unit`,
    );
  }
  return Array.from(new Set(found.map(({ name }) => name))).flatMap((name) =>
    portsOf(
      name,
      decodeURIComponent(path),
      found.filter((socket) => socket.name === name),
    ),
  );
}

/** Tells systemd that the service is ready (`Type=notify`, with `NotifyAccess=all`). */
export async function notifyReady(): Promise<void> {
  if (!process.env["NOTIFY_SOCKET"]) return;
  const { spawn } = await import("node:child_process");
  const child = spawn("systemd-notify", ["--ready"], { stdio: "ignore" });
  child.on("error", ({ message }) => process.emitWarning(`systemd was not told that the service is ready: ${message}`));
  child.unref();
}

/** Sockets of one name: each over TCP stands beside the UDP port that is listed as its like. */
function portsOf(name: string, path: string, sockets: readonly PassedSocket[]): readonly PassedPort[] {
  const scheme = `${name}:`;
  const streams = sockets.filter(({ datagrams }) => datagrams === undefined);
  const addresses = new Set(sockets.flatMap(({ datagrams }) => datagrams ?? []));
  if (name !== "quic" && name !== "https") {
    if (addresses.size > 0)
      throw new TypeError(
        `systemd has passed a UDP socket called "${name}": FileDescriptorName=quic makes it one for quic://, and ListenStream= makes one for other schemes`,
      );
    return streams.map(({ descriptor, path: own }) => ({
      scheme,
      path: own ?? path,
      descriptor,
      datagramDescriptors: undefined,
    }));
  }
  if (addresses.size === 0 || streams.length > addresses.size) {
    throw new TypeError(
      `systemd has passed ${addresses.size} UDP ports called "${name}", and ${streams.length} over TCP: ListenDatagram= makes one for ${name}://, ListenStream= the one beside it`,
    );
  }
  return Array.from(addresses).map((address, at) => {
    const members = sockets.filter(({ datagrams }) => datagrams === address);
    const datagramDescriptors = members.map(({ descriptor }) => descriptor);
    return { scheme, path, descriptor: streams[at]?.descriptor, datagramDescriptors };
  });
}

/** The sockets that systemd has passed to this process. Throws `TypeError` where there are none. */
export function passedSockets(): readonly PassedSocket[] {
  const { LISTEN_FDS: count, LISTEN_PID: pid, LISTEN_FDNAMES: names = "" } = process.env;
  if (!count) {
    throw new TypeError(
      "systemd has passed no sockets to this process (LISTEN_FDS is not set): start it by a .service that has a .socket unit, or by systemd-socket-activate",
    );
  }
  if (Number(pid) !== process.pid) {
    throw new TypeError(
      `the sockets of systemd are for process ${pid} (LISTEN_PID), and this is ${process.pid}: ExecStart= has to start node itself, not by npm or a shell`,
    );
  }
  const udp = new Map([...rows("udp"), ...rows("udp6")].map((row) => [Number(row[9]), row[1]]));
  const unix = new Map(rows("unix").map((row) => [Number(row[6]), row[7]]));
  return Array.from({ length: Number(count) }, (_, at) => {
    const descriptor = FIRST_DESCRIPTOR + at;
    const { ino } = fstatSync(descriptor);
    return { descriptor, name: names.split(":")[at] ?? "", datagrams: udp.get(ino), path: unix.get(ino) };
  });
}

/** The sockets of one protocol that the system lists, as words. */
function rows(protocol: "udp" | "udp6" | "unix"): readonly (readonly string[])[] {
  try {
    const [, ...lines] = readFileSync(`/proc/self/net/${protocol}`, "utf8").trimEnd().split("\n");
    return lines.map((line) => line.trim().split(/\s+/));
  } catch {
    // No IPv6, for one.
    return [];
  }
}

/**
 * Warns where sockets that this process shares with the next one block. systemd sets the mode for the sockets themselves, so that a second process
 * which starts would have the first one wait for packets in its event loop.
 */
export function warnOfBlocking(descriptors: readonly number[]): void {
  if (descriptors.length < 2) return;
  const isBlocking = (descriptor: number): boolean => {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & NON_BLOCKING) === 0;
  };
  if (!descriptors.some(isBlocking)) return;
  const text =
    "the service needs NonBlocking=yes: without, a process that follows this one halts it until it serves itself";
  process.emitWarning(text, { code: "QUICRPC_BLOCKING_SOCKET" });
}
