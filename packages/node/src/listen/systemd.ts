import { fstatSync, readFileSync } from "node:fs";

/** Number of the first file descriptor that systemd passes to a process (sd_listen_fds(3)). */
const FIRST_DESCRIPTOR = 3;
/** Value of `O_NONBLOCK` on Linux. */
const NON_BLOCKING = 0o4000;

/** A listen address whose sockets systemd has passed to this process. */
export interface PassedPort {
  /** URL scheme of the address. In systemd it is the name of the sockets (`FileDescriptorName`). */
  readonly scheme: string;
  /** Path of the URL, or the path of a Unix socket. */
  readonly path: string;
  readonly descriptor: number | undefined;
  readonly datagramDescriptors: readonly number[] | undefined;
}

/** A socket that systemd has passed to this process. A worker receives it from its primary process. */
export interface PassedSocket {
  /** File descriptor in the process that systemd started. */
  readonly descriptor: number;
  readonly name: string;
  /** Local address of a UDP socket, in the notation of `/proc/net`. Undefined for other sockets. */
  readonly datagrams: string | undefined;
  /** Path of a Unix socket. Undefined for other sockets. */
  readonly path: string | undefined;
}

/**
 * Returns the listen addresses that `systemd:`, `systemd:quic` or `systemd:wss/path` selects from the passed sockets,
 * by default the sockets passed to this process. Throws `TypeError` if no socket matches, or if a socket's type does
 * not fit its name.
 */
export function passedPorts(
  { pathname }: URL,
  sockets: readonly PassedSocket[] = passedSockets(),
): readonly PassedPort[] {
  const [, wantedName = "", path = ""] = /^([^/]*)(.*)$/.exec(pathname) ?? [];
  const matching = sockets.filter(({ name }) => wantedName === "" || name === wantedName);
  if (matching.length === 0) {
    throw new TypeError(
      `systemd has passed no socket called "${wantedName}" to this process: set FileDescriptorName=${wantedName || "quic"} in the .socket unit, and name the unit in Sockets= of the service`,
    );
  }
  return Array.from(new Set(matching.map(({ name }) => name))).flatMap((name) =>
    portsOf(
      name,
      decodeURIComponent(path),
      matching.filter((socket) => socket.name === name),
    ),
  );
}

/** Notifies systemd that the service is ready (`Type=notify`, with `NotifyAccess=all`). */
export async function notifyReady(): Promise<void> {
  if (!process.env["NOTIFY_SOCKET"]) return;
  const { spawn } = await import("node:child_process");
  const child = spawn("systemd-notify", ["--ready"], { stdio: "ignore" });
  child.on("error", ({ message }) =>
    process.emitWarning(`could not notify systemd that the service is ready: ${message}`),
  );
  child.unref();
}

/**
 * Groups the sockets of one name into listen addresses: pairs each TCP socket with the UDP port at the same position.
 */
function portsOf(name: string, path: string, sockets: readonly PassedSocket[]): readonly PassedPort[] {
  const scheme = `${name}:`;
  const streams = sockets.filter(({ datagrams }) => datagrams === undefined);
  const addresses = new Set(sockets.flatMap(({ datagrams }) => datagrams ?? []));
  if (name !== "quic" && name !== "https") {
    if (addresses.size > 0)
      throw new TypeError(
        `systemd has passed a UDP socket called "${name}": use FileDescriptorName=quic for quic://, and ListenStream= for other schemes`,
      );
    return streams.map(({ descriptor, path: socketPath }) => ({
      scheme,
      path: socketPath ?? path,
      descriptor,
      datagramDescriptors: undefined,
    }));
  }
  if (addresses.size === 0 || streams.length > addresses.size) {
    throw new TypeError(
      `systemd has passed ${addresses.size} UDP ports called "${name}", but ${streams.length} TCP ports: each needs a ListenDatagram= for ${name}:// and a ListenStream= with the same number`,
    );
  }
  return Array.from(addresses).map((address, at) => {
    const members = sockets.filter(({ datagrams }) => datagrams === address);
    const datagramDescriptors = members.map(({ descriptor }) => descriptor);
    return { scheme, path, descriptor: streams[at]?.descriptor, datagramDescriptors };
  });
}

/** Returns the sockets that systemd passed to this process. Throws `TypeError` if there are none. */
export function passedSockets(): readonly PassedSocket[] {
  const { LISTEN_FDS: count, LISTEN_PID: pid, LISTEN_FDNAMES: names = "" } = process.env;
  if (!count) {
    throw new TypeError(
      "systemd has passed no sockets to this process (LISTEN_FDS is not set): start it with a .service that has a .socket unit, or with systemd-socket-activate",
    );
  }
  if (Number(pid) !== process.pid) {
    throw new TypeError(
      `systemd has passed its sockets to process ${pid} (LISTEN_PID), and this is ${process.pid}: ExecStart= must start node directly, not through npm or a shell`,
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

/** Reads a table of sockets from `/proc/net`. Returns its rows, split into words. */
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
 * Warns if passed sockets are in blocking mode. systemd changes the mode of the sockets themselves, so when a second
 * process starts with the same sockets, the first process would block its event loop while it waits for packets.
 */
export function warnOfBlocking(descriptors: readonly number[]): void {
  if (descriptors.length < 2) return;
  const isBlocking = (descriptor: number): boolean => {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & NON_BLOCKING) === 0;
  };
  if (!descriptors.some(isBlocking)) return;
  const text = "the service requires NonBlocking=yes: otherwise the next process blocks this one until it serves";
  process.emitWarning(text, { code: "QUICRPC_BLOCKING_SOCKET" });
}
