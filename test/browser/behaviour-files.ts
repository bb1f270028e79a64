import type { Lane, Remote } from "./page/remote.js";

/**
 * Files of behaviours, and how many of their tests a page must pass at least, over each transport, by the
 * smaller client and by sessions of streams where these have what they need, and by the ponyfill, whose server cannot be in the page. Some skip: they ask Node.
 * Not here: `identity` (pages have no certificates), `leaks` (`memory.test.ts` looks for them), and raw peers (`page/lanes.ts`).
 */
export const files: readonly ({ readonly file: string } & Readonly<Partial<Record<Lane, number>>>)[] = [
  { file: "admission", webtransport: 5, firefox: 5, websocket: 5, connectWebTransport: 5, ponyfill: 4 },
  {
    file: "basic",
    webtransport: 26,
    firefox: 25,
    websocket: 26,
    connectWebTransport: 24,
    ponyfill: 26,
    createStreamSession: 24,
  },
  {
    file: "bytes",
    webtransport: 14,
    firefox: 14,
    websocket: 14,
    connectWebTransport: 14,
    ponyfill: 0,
    createStreamSession: 14,
  },
  {
    file: "cancellation",
    webtransport: 26,
    firefox: 18,
    websocket: 26,
    connectWebTransport: 26,
    ponyfill: 26,
    createStreamSession: 26,
  },
  { file: "codecs", webtransport: 21, firefox: 21, websocket: 21, ponyfill: 1 },
  { file: "compression", webtransport: 18, firefox: 18, websocket: 18, connectWebTransport: 0, ponyfill: 0 },
  {
    file: "datagrams",
    webtransport: 3,
    firefox: 3,
    websocket: 3,
    connectWebTransport: 2,
    ponyfill: 0,
    createStreamSession: 2,
  },
  {
    file: "deadlines",
    webtransport: 16,
    firefox: 16,
    websocket: 16,
    connectWebTransport: 14,
    ponyfill: 14,
    createStreamSession: 14,
  },
  { file: "drain", webtransport: 10, firefox: 10, websocket: 10, connectWebTransport: 8, ponyfill: 6 },
  {
    file: "errors",
    webtransport: 52,
    firefox: 35,
    websocket: 52,
    connectWebTransport: 52,
    ponyfill: 52,
    createStreamSession: 52,
  },
  {
    file: "extremes",
    webtransport: 4,
    firefox: 4,
    websocket: 4,
    connectWebTransport: 4,
    ponyfill: 0,
    createStreamSession: 4,
  },
  { file: "foreign-streams", webtransport: 3, firefox: 3, websocket: 0, connectWebTransport: 1, ponyfill: 0 },
  { file: "interceptors", webtransport: 16, firefox: 14, websocket: 16, connectWebTransport: 16, ponyfill: 0 },
  { file: "kill", webtransport: 8, firefox: 8, websocket: 16, ponyfill: 0 },
  {
    file: "limits",
    webtransport: 7,
    firefox: 7,
    websocket: 7,
    connectWebTransport: 7,
    ponyfill: 5,
    createStreamSession: 8,
  },
  {
    file: "metadata",
    webtransport: 49,
    firefox: 49,
    websocket: 49,
    connectWebTransport: 49,
    ponyfill: 49,
    createStreamSession: 49,
  },
  { file: "schemas", webtransport: 20, firefox: 20, websocket: 20, connectWebTransport: 20, ponyfill: 0 },
  { file: "sessions", webtransport: 6, firefox: 4, websocket: 6, connectWebTransport: 6, ponyfill: 6 },
  { file: "sizes", webtransport: 8, firefox: 8, websocket: 8, connectWebTransport: 8, ponyfill: 8 },
  { file: "slow-reader", webtransport: 2, firefox: 0, websocket: 4, connectWebTransport: 2, ponyfill: 0 },
  {
    file: "stream-limit",
    webtransport: 1,
    firefox: 1,
    websocket: 0,
    connectWebTransport: 1,
    ponyfill: 0,
    createStreamSession: 1,
  },
  {
    file: "typed-errors",
    webtransport: 22,
    firefox: 22,
    websocket: 22,
    connectWebTransport: 22,
    ponyfill: 22,
    createStreamSession: 22,
  },
  { file: "cursors", webtransport: 4, firefox: 4, websocket: 4, connectWebTransport: 4 },
  { file: "once", webtransport: 6, firefox: 6, websocket: 6, connectWebTransport: 6, ponyfill: 0 },
  { file: "resumable", webtransport: 4, firefox: 4, websocket: 4, connectWebTransport: 4 },
  { file: "topics", webtransport: 7, firefox: 6, websocket: 7, connectWebTransport: 7, ponyfill: 0 },
  { file: "unserved", webtransport: 2, firefox: 2, websocket: 2, connectWebTransport: 2, ponyfill: 0 },
];

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
