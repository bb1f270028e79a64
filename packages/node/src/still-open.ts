import { isDebugged } from "./debug.js";

/** Something that was opened in this process and has not been closed. It keeps the process alive. */
export interface StillOpen {
  /** The kind of the object that was opened. */
  readonly what: "server" | "connection" | "pool" | "session";
  /** URLs that it listens on, or is connected to. */
  readonly target: string;
  /** When it was opened, in milliseconds since the epoch. */
  readonly since: number;
  /** The line that opened it, where `QUICRPC_DEBUG` has "open". */
  readonly openedAt: string | undefined;
}

/** Between two listings of `QUICRPC_DEBUG=open`. */
const LISTING_MS = 10_000;
const HERE = /packages\/(node|core|quic)\/(dist|bundle)\/|@quicrpc\//;

const open = new Set<StillOpen>();
const debugging = isDebugged("open");
let lister: NodeJS.Timeout | undefined;

/**
 * Servers, connections, pools and sessions of this process that have not been closed, the oldest first: one of them is why a
 * process does not end. With `QUICRPC_DEBUG=open` in the environment the process lists them every 10 s on stderr.
 */
export function stillOpen(): readonly StillOpen[] {
  return [...open];
}

/**
 * To be called in the turn in which something is asked for, for the sake of its stack. The function returned lists it once
 * it is open, and returns what takes it off the list.
 */
export function noteOpen(what: StillOpen["what"]): (target: string) => () => void {
  const openedAt = debugging ? callersLine(new Error().stack) : undefined;
  return (target) => {
    const entry: StillOpen = { what, target, since: Date.now(), openedAt };
    open.add(entry);
    if (debugging) lister ??= setInterval(list, LISTING_MS).unref();
    return () => void open.delete(entry);
  };
}

/** The first line of a stack that is not of this library. */
function callersLine(stack = ""): string | undefined {
  const lines = stack.split("\n").slice(1);
  return lines
    .find((line) => !HERE.test(line))
    ?.trim()
    .replace(/^at /, "");
}

function list(): void {
  const lines = stillOpen().map(({ what, target, since, openedAt = "an unknown place" }) => {
    return `  ${what} ${target}, for ${Math.round((Date.now() - since) / 1000)} s, opened at ${openedAt}`;
  });
  if (lines.length > 0) process.stderr.write(`quicrpc: still open, until close() is called:\n${lines.join("\n")}\n`);
}
