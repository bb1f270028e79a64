import type { Lane, Remote } from "./page/remote.js";

/**
 * Files of behaviours that run in a page, for each lane, with the number of their tests that have to pass at least; the
 * others need Node and skip themselves. All run over WebTransport in Chromium. Other lanes run the files whose outcome
 * depends on the browser's engine, the transport or the client: the rest is core's code, which is the same in each lane.
 * Not here: `identity` (pages have no certificates), `leaks` (`memory.test.ts` looks for them), and raw peers (`page/lanes.ts`).
 */
export const files: Readonly<Record<Lane, Readonly<Record<string, number>>>> = {
  webtransport: {
    admission: 5,
    basic: 26,
    bytes: 14,
    cancellation: 26,
    codecs: 21,
    compression: 18,
    datagrams: 3,
    deadlines: 16,
    drain: 10,
    errors: 52,
    extremes: 4,
    "foreign-streams": 3,
    interceptors: 16,
    kill: 8,
    limits: 7,
    metadata: 49,
    schemas: 20,
    sessions: 6,
    sizes: 8,
    "slow-reader": 2,
    "stream-limit": 1,
    "typed-errors": 22,
    cursors: 4,
    once: 6,
    resumable: 4,
    topics: 7,
    unserved: 2,
  },
  firefox: {
    basic: 25,
    bytes: 14,
    cancellation: 18,
    compression: 18,
    datagrams: 3,
    drain: 10,
    extremes: 4,
    "foreign-streams": 3,
    kill: 8,
    limits: 7,
    sessions: 4,
    "slow-reader": 0,
    "stream-limit": 1,
  },
  websocket: { basic: 26, bytes: 14, cancellation: 26, drain: 10, extremes: 4, limits: 7, "slow-reader": 4 },
  connectWebTransport: { basic: 24, cancellation: 26, datagrams: 2, drain: 8, limits: 7, "stream-limit": 1 },
  ponyfill: { basic: 26, cancellation: 26, drain: 6, limits: 5 },
  createStreamSession: { basic: 24, bytes: 14, cancellation: 26, datagrams: 2, limits: 8, "stream-limit": 1 },
};

/** Returns the script that a page runs before a file's script, whichever browser it is in. */
export function prelude(lane: Lane): string {
  return `globalThis.lane = ${JSON.stringify(lane)};
    globalThis.remote = { ${REMOTES.map((name) => `${name}: remote_${name}`).join(", ")} };
    ${lane === "websocket" ? "globalThis.WebTransport = undefined;" : ""}`;
}

/** The functions of `servers` that a page calls, by the names that it has for them. */
export function exposed(servers: Remote): Record<string, (...given: never[]) => unknown> {
  return Object.fromEntries(REMOTES.map((name) => [`remote_${name}`, servers[name].bind(servers)]));
}

const REMOTES = ["start", "seen", "release", "session", "stop", "meet"] as const satisfies readonly (keyof Remote)[];
