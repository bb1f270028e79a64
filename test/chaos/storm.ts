// Makes calls of every kind over a failing network and to a server that is killed, and records their outcomes.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Connection, RpcError } from "@quicrpc/core";
import { connect, devCertificate } from "@quicrpc/node";
import { freePort } from "../../scripts/free-port.mjs";
import { PinningRelay } from "../../packages/node/test/pinning-relay.js";
import { startProgram } from "../child-program.js";
import { type Held, methods, type ServerSettings } from "./contract.js";
import { BLACKOUT, type Conditions, FAIR, type Link, openTcpLink, openUdpLink, randomNumbers } from "@quicrpc/testing";

/** Milliseconds after which a call that is neither answered nor failed counts as hanging; its timeout is a quarter of it. */
const HANGS_AFTER_MS = 20_000;
/** Milliseconds within which handlers must notice that their caller no longer waits. */
const TOLD_WITHIN_MS = 45_000;
/**
 * Bytes of a call that finds out whether the connection works, each way. A TLS record whose length was damaged is as long as it says,
 * at most 16,640 bytes (RFC 8446 §5.2): with less its receiver would wait for the rest, until `keepAlive` gives the session up.
 */
const FINDS_OUT = 20_000;

/** Outcomes of the calls of one storm. */
export interface Account {
  readonly calls: number;
  /** Calls with the expected response. */
  answered: number;
  /** Failed with an `RpcError`, cancelled ones included. */
  failed: number;
  /** Neither, for 20 s. */
  hung: number;
  /** Answered with something else, or failed with something else than an `RpcError`. */
  wrong: number;
  /** Calls whose handler was entered more than once. */
  twice: number;
  /** Answered without a handler, or entered though the error says `refused`. */
  untrue: number;
  /** Handlers that ran on after their caller was gone. */
  forgotten: number;
  /** MiB that the server holds more than before. */
  kept: number;
  /** Times the server was killed and started again. */
  kills: number;
  /** Seconds from the end of it all until a call was answered. */
  recovered: number;
  /** The same from the end of each of `steps`. */
  readonly after: { readonly name: string; readonly seconds: number }[];
}

export interface StormSettings {
  /** `quic:`, `https:`, `tls:`, `wss:`, `tcp:`, `ws:`. */
  readonly scheme: string;
  readonly seed: number;
  /** How long the weather is bad. */
  readonly ms: number;
  /** Calls at once. */
  readonly workers: number;
  /** Whether the server is killed now and then. */
  readonly kills: boolean;
  /** What happens instead of bad weather, over QUIC, in order. */
  readonly steps?: readonly Step[];
}

/** The network between the client and the server: a relay, and links from it to the server. */
interface Path {
  readonly links: readonly [Link, Link];
  readonly relay: PinningRelay;
}

/** An event on the network, after which calls have to be answered again. */
export interface Step {
  readonly name: string;
  run(path: Path): Promise<void> | void;
}

/** Loses every packet for a while. */
export function cut(ms: number): Step {
  return {
    name: `is cut for ${ms / 1000} s`,
    async run({ links }) {
      for (const link of links) link.conditions = BLACKOUT;
      await pause(ms);
      for (const link of links) link.conditions = FAIR;
    },
  };
}

/** Gives the client another address. */
export const rebind: Step = {
  name: "gives the client another address",
  run: ({ links }) => links.forEach((link) => link.move()),
};

/** Loses all packets for a while, and after that those of the source ports that were in use before, as a NAT that has forgotten its flows. */
export function block(ms: number): Step {
  return {
    name: `is blocked for ${ms / 1000} s, then open to new ports only`,
    async run({ links: [one, other], relay }) {
      const next = relay.server === one.port ? other : one;
      relay.move(undefined);
      await pause(ms);
      relay.move(next.port);
    },
  };
}

type Outcome = "answered" | "failed" | "refused";

const BAD: readonly Partial<Conditions>[] = [
  {},
  { loss: 0.03 },
  { loss: 0.2 },
  { duplicate: 0.2 },
  { reorder: 0.3 },
  { corrupt: 0.02 },
  { loss: 0.05, duplicate: 0.05, reorder: 0.1, corrupt: 0.01 },
  { blackout: true },
];

class Server {
  private child: ChildProcess | undefined;
  readonly journal: string = join(mkdtempSync(join(tmpdir(), "quicrpc-chaos-")), "journal");
  url: string;

  constructor(scheme: string, port: number) {
    this.url = `${scheme}//127.0.0.1:${port}${scheme === "quic:" || scheme === "tls:" || scheme === "tcp:" ? "" : "/rpc"}`;
  }

  async start(): Promise<void> {
    const settings: ServerSettings = { listen: this.url, journal: this.journal };
    const { child, message } = await startProgram<string>(new URL("server.ts", import.meta.url), settings, [
      "--expose-gc",
    ]);
    this.child = child;
    this.url = message;
  }

  async kill(): Promise<void> {
    const child = this.child as ChildProcess;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async held(): Promise<Held> {
    const child = this.child as ChildProcess;
    const answer = once(child, "message");
    child.send("measure");
    const [held] = (await answer) as [Held];
    return held;
  }
}

/** Runs calls through bad weather, then lets it clear up, and gives the account. */
export async function storm({ scheme, seed, ms, workers, kills, steps }: StormSettings): Promise<Account> {
  const random = randomNumbers(seed);
  const port = await freePort();
  const server = new Server(scheme, port);
  await server.start();
  const udp = scheme === "quic:" || scheme === "https:";
  const link: Link = await (udp ? openUdpLink : openTcpLink)({ target: port, seed });
  const other = steps && (await openUdpLink({ target: port, seed }));
  const relay = other && new PinningRelay(link.port);
  const entrance = relay === undefined ? link.port : await relay.start();
  const { hash } = await devCertificate();
  const connection = await connect(server.url.replace(`:${port}`, `:${entrance}`), {
    serverCertificateHashes: [hash],
  });
  const outcomes = new Map<number, Outcome>();
  const account: Account = {
    calls: 0,
    answered: 0,
    failed: 0,
    hung: 0,
    wrong: 0,
    twice: 0,
    untrue: 0,
    forgotten: 0,
    kept: 0,
    kills: 0,
    recovered: Number.POSITIVE_INFINITY,
    after: [],
  };
  try {
    await connection.unary(methods.echo, 0);
    const before = await server.held();
    const over = new AbortController();
    const makers = Array.from({ length: workers }, () => makeCalls(connection, random, outcomes, account, over.signal));
    if (relay !== undefined && other !== undefined) {
      for (const step of steps ?? []) {
        await step.run({ links: [link, other], relay });
        account.after.push({ name: step.name, seconds: await recovery(connection) });
      }
    } else {
      await weather(link, random, ms, async () => {
        if (!kills) return;
        account.kills++;
        await server.kill();
        await server.start();
      });
    }
    over.abort();
    await Promise.all(makers);
    // The sky is clear: the connection has to work again, whatever state it is in.
    account.recovered = await recovery(connection);
    await connection.close();
    const after = await quiet(server);
    account.forgotten = after.running;
    account.kept = Math.max(0, (after.live - before.live) / 1_048_576);
    compare(outcomes, readFileSync(server.journal, "utf8"), account);
    return { ...account, calls: outcomes.size };
  } finally {
    await connection.close();
    relay?.close();
    other?.close();
    link.close();
    await server.kill();
    rmSync(join(server.journal, ".."), { recursive: true });
  }
}

/** Changes the weather a few times in a second; between two spells something else may happen. */
async function weather(link: Link, random: () => number, ms: number, kill: () => Promise<void>): Promise<void> {
  const until = Date.now() + ms;
  for (let spell = 1; Date.now() < until; spell++) {
    link.conditions = BAD[Math.floor(random() * BAD.length)] ?? FAIR;
    await pause(link.conditions.blackout ? 300 : 100 + random() * 300);
    const chance = random();
    if (chance < 0.1) link.move();
    else if (chance < 0.2 || spell === 3) await kill();
  }
  link.conditions = FAIR;
}

/** One call after the other until it is over. */
async function makeCalls(
  connection: Connection,
  random: () => number,
  outcomes: Map<number, Outcome>,
  account: Account,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    const call = outcomes.size + 1;
    outcomes.set(call, "failed");
    const timer = new AbortController();
    const settled = outcomeOf(oneCall(connection, call, random()));
    const hangs = pause(HANGS_AFTER_MS, timer.signal).then(() => "hung" as const);
    const outcome = await Promise.race([settled, hangs]);
    timer.abort();
    if (outcome === "answered" || outcome === "failed" || outcome === "refused") outcomes.set(call, outcome);
    if (outcome === "answered") account.answered++;
    else if (outcome === "hung") account.hung++;
    else if (outcome === "wrong") account.wrong++;
    else account.failed++;
    // Calls that fail at once, without a session, must not take the whole processor.
    if (outcome !== "answered") await pause(5);
  }
}

async function outcomeOf(call: Promise<boolean | number>): Promise<Outcome | "wrong"> {
  try {
    return (await call) === false ? "wrong" : "answered";
  } catch (error) {
    if (!(error instanceof RpcError)) return "wrong";
    return error.refused ? "refused" : "failed";
  }
}

/** Makes a call of a kind that `lot` decides; false: the answer is not what it should be. */
async function oneCall(connection: Connection, call: number, lot: number): Promise<boolean> {
  const options = { timeoutMs: HANGS_AFTER_MS / 4 };
  if (lot < 0.6) return (await connection.unary(methods.echo, call, options)) === call;
  if (lot < 0.7) {
    let last = 0;
    for await (const item of connection.serverStream(methods.items, call, options)) {
      if (item !== ++last) return false;
    }
    return last === 20;
  }
  if (lot < 0.8) return (await connection.clientStream(methods.count, [call, 1, 2, 3], options)) === 3;
  if (lot < 0.9) {
    const { readable, writable } = connection.duplex(methods.chat, options);
    const writer = writable.getWriter();
    const written = Promise.all([call, 1, 2, 3].map((item) => writer.write(item))).then(() => writer.close());
    written.catch(() => {});
    let last = 0;
    for await (const item of readable) if (item !== ++last) return false;
    await written;
    return last === 3;
  }
  const signal = AbortSignal.timeout(Math.floor((lot - 0.9) * 1000));
  await connection.unary(methods.hold, call, { ...options, signal });
  return false;
}

/** Calls until it is answered, for at most a minute. */
async function recovery(connection: Connection): Promise<number> {
  const started = performance.now();
  const bytes = new Uint8Array(FINDS_OUT);
  const mirrored = async (): Promise<boolean> =>
    (await connection.unary(methods.mirror, bytes, { timeoutMs: 1000 })).length === FINDS_OUT;
  while (performance.now() - started < 60_000) {
    if ((await outcomeOf(mirrored())) === "answered") {
      return (performance.now() - started) / 1000;
    }
    await pause(10);
  }
  return Number.POSITIVE_INFINITY;
}

/** Waits until no handler runs any more, for as long as the transport needs to notice that its peer has gone. */
async function quiet(server: Server): Promise<Held> {
  const until = Date.now() + TOLD_WITHIN_MS;
  for (;;) {
    const held = await server.held();
    if (held.running === 0 || Date.now() > until) return held;
    await pause(100);
  }
}

/** Holds what the callers were told against what the handlers wrote down. */
function compare(outcomes: ReadonlyMap<number, Outcome>, journal: string, account: Account): void {
  const entered = new Map<number, number>();
  for (const [, call] of journal.matchAll(/^\+ (\d+)$/gm)) {
    entered.set(Number(call), (entered.get(Number(call)) ?? 0) + 1);
  }
  for (const [call, outcome] of outcomes) {
    const times = entered.get(call) ?? 0;
    if (times > 1) account.twice++;
    if (outcome === "answered" && times === 0) account.untrue++;
    if (outcome === "refused" && times > 0) account.untrue++;
  }
}

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
