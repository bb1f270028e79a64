import { isDebugged } from "./debug.js";

/** An open server, connection, pool or session of this process. It keeps the process alive until it is closed. */
export interface ActiveHandle {
  /** Kind of the open object. */
  readonly what: "server" | "connection" | "pool" | "session";
  /** URLs that the object listens on or is connected to. */
  readonly target: string;
  /** Time at which the object was opened, in milliseconds since the epoch. */
  readonly since: number;
  /** Source line that opened the object. Only recorded if the environment variable `QUICRPC_DEBUG` contains "open". */
  readonly openedAt: string | undefined;
}

/** Interval of the list that `QUICRPC_DEBUG=open` prints, in milliseconds. */
const LISTING_MS = 10_000;
const HERE = /packages\/(node|core|quic)\/(dist|bundle)\/|@quicrpc\//;

const open = new Set<ActiveHandle>();
const debugging = isDebugged("open");
let lister: NodeJS.Timeout | undefined;

/**
 * Returns the servers, connections, pools and sessions of this process that have not been closed, the oldest first.
 * They are why a process does not exit. With `QUICRPC_DEBUG=open` in the environment, the process prints them on stderr
 * every 10 s.
 */
export function activeHandles(): readonly ActiveHandle[] {
  return [...open];
}

/**
 * Records where an object is opened. Call this function synchronously when the caller requests the object, so that the
 * stack trace contains the caller's line. The returned function adds the opened object to the list of active handles,
 * and itself returns a function that removes the object.
 */
export function trackHandle(kind: ActiveHandle["what"]): (target: string) => () => void {
  const openedAt = debugging ? callersLine(new Error().stack) : undefined;
  return (target) => {
    const entry: ActiveHandle = { what: kind, target, since: Date.now(), openedAt };
    open.add(entry);
    if (debugging) lister ??= setInterval(list, LISTING_MS).unref();
    return () => void open.delete(entry);
  };
}

/** Returns the first line of a stack trace that is outside this library. */
function callersLine(stack = ""): string | undefined {
  const lines = stack.split("\n").slice(1);
  return lines
    .find((line) => !HERE.test(line))
    ?.trim()
    .replace(/^at /, "");
}

function list(): void {
  const lines = activeHandles().map(({ what, target, since, openedAt = "an unknown place" }) => {
    return `  ${what} ${target}, for ${Math.round((Date.now() - since) / 1000)} s, opened at ${openedAt}`;
  });
  if (lines.length > 0) process.stderr.write(`quicrpc: still open, until close() is called:\n${lines.join("\n")}\n`);
}
