// Calls that take effect once, over a network that fails, to servers that end themselves, and an account of their effects.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, retry } from "@quicrpc/core";
import { createOnceKey, onceFailure } from "@quicrpc/durable";
import { connect, devCertificate } from "@quicrpc/node";
import type { RedisServer } from "../../packages/redis/test/redis-server.js";
import { freePort } from "../../scripts/free-port.mjs";
import { startProgram } from "../child-program.js";
import { type Conditions, type Link, openTcpLink, openUdpLink, randomNumbers } from "@quicrpc/testing";
import { add, type Fate, LEASE_MS, type OnceServerSettings } from "./once-contract.js";

const TENANTS = ["ann", "bob"] as const;
/** Milliseconds after which a call that is neither answered nor of unknown outcome counts as hanging. */
const HANGS_AFTER_MS = 60_000;
/** Fate of a call's server, or of all of its process or the network while the call runs. */
type Doom = Fate | "stopped" | "blackout";
const DOOMS: readonly Doom[] = [
  "paused",
  "killed before",
  "stopped",
  "killed after",
  "blackout",
  "killed recorded",
  "killed answered",
];
/** Milliseconds for which an owner is suspended. */
const STANDS_STILL_MS = LEASE_MS * 1.5;
/** Milliseconds that a store serves before it is killed. */
const STORE_LIVES_MS = 5000;

export interface OnceAccount {
  calls: number;
  answered: number;
  /** Told that the outcome is unknown. */
  unknown: number;
  /** How many of those had taken effect. */
  unknownEffects: number;
  hung: number;
  /** Answered or failed with something else. */
  wrong: string[];
  /** Keys with more than one effect. */
  twice: number;
  /** Answered, and without effect. */
  missing: number;
  /** Servers that ended, and stores that were killed. */
  kills: number;
  /** Server processes that were suspended for longer than a lease, and then continued. */
  stops: number;
  blackouts: number;
}

export interface OnceStormSettings {
  readonly scheme: "quic:" | "tls:";
  readonly calls: number;
  readonly workers: number;
  readonly seed: number;
  /** Share of calls whose server ends or is suspended. */
  readonly doom: number;
  /** Undefined for a store in memory, which ends with its server. */
  readonly redis: RedisServer | undefined;
}

/** A server that is started again whenever it has ended. */
class Phoenix {
  url: string;
  kills = 0;
  private child: ChildProcess | undefined = undefined;
  private over = false;
  private readonly journal: string;
  private readonly socket: string | undefined;

  constructor(scheme: string, port: number, journal: string, socket: string | undefined) {
    this.url = `${scheme}//127.0.0.1:${port}`;
    this.journal = journal;
    this.socket = socket;
  }

  async start(): Promise<void> {
    const settings: OnceServerSettings = { listen: this.url, journal: this.journal, socket: this.socket };
    const { child, message } = await startProgram<string>(new URL("once-server.ts", import.meta.url), settings);
    this.url = message;
    this.child = child;
    child.once("exit", () => {
      if (this.over) return;
      this.kills++;
      this.start().catch(() => {});
    });
  }

  /** Suspends all threads of its process for longer than a lease. */
  async standStill(): Promise<void> {
    // One that has ended is started again.
    while (this.child?.kill("SIGSTOP") !== true) await sleep(20);
    const { child } = this;
    await sleep(STANDS_STILL_MS);
    child?.kill("SIGCONT");
  }

  async end(): Promise<void> {
    this.over = true;
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}

export async function onceStorm(settings: OnceStormSettings): Promise<OnceAccount> {
  const { scheme, calls, workers, seed, doom, redis } = settings;
  const random = randomNumbers(seed);
  const journal = join(mkdtempSync(join(tmpdir(), "quicrpc-once-")), "journal");
  const port = await freePort();
  const server = new Phoenix(scheme, port, journal, redis?.socket);
  await server.start();
  const link: Link =
    scheme === "quic:" ? await openUdpLink({ target: port, seed }) : await openTcpLink({ target: port });
  const usual: Partial<Conditions> = scheme === "quic:" ? { loss: 0.02, duplicate: 0.05, reorder: 0.05 } : {};
  link.conditions = usual;
  const url = `${scheme}//127.0.0.1:${link.port}`;
  const serverCertificateHashes = [(await devCertificate()).hash];
  const interceptors = [retry({ maxTokens: 1000 })];
  const connections = await Promise.all(
    TENANTS.map((credentials) => connect(url, { credentials, serverCertificateHashes, interceptors })),
  );
  const account: OnceAccount = {
    calls: 0,
    answered: 0,
    unknown: 0,
    unknownEffects: 0,
    hung: 0,
    wrong: [],
    twice: 0,
    missing: 0,
    kills: 0,
    stops: 0,
    blackouts: 0,
  };
  const answered: string[] = [];
  const unknown: string[] = [];
  let begun = 0;
  const apart = Math.max(1, Math.round(1 / doom));
  /** By turns, at equal distances: by chance a short run would have none. */
  const doomOf = (): Doom => {
    const turn = ++begun / apart;
    if (Number.isInteger(turn)) return DOOMS[turn % DOOMS.length] as Doom;
    return random() < 0.05 ? "slow" : "fair";
  };
  /** Returns the fate of the call alone. A fate of all calls begins with it. */
  const fateOf = (doom: Doom): Fate => {
    if (doom === "stopped") {
      account.stops++;
      faults.push(server.standStill());
    } else if (doom === "blackout") {
      account.blackouts++;
      faults.push(blackOut());
    } else return doom;
    return "slow";
  };
  const faults: Promise<void>[] = [];
  const blackOut = async (): Promise<void> => {
    link.conditions = { ...usual, blackout: true };
    await sleep(STANDS_STILL_MS);
    link.conditions = usual;
  };
  const one = async (connection: Connection, tenant: string, onceKey: string, fate: Fate): Promise<void> => {
    account.calls++;
    const name = `${tenant} ${onceKey}`;
    const until = Date.now() + HANGS_AFTER_MS;
    while (Date.now() < until) {
      try {
        const answer = await connection.unary(add, { fate }, { onceKey, timeoutMs: 5000 });
        if (answer !== name) account.wrong.push(`${name} was answered ${answer}`);
        answered.push(name);
        return;
      } catch (error) {
        const failure = onceFailure(error);
        if (failure === "unknown") {
          unknown.push(name);
          return;
        }
        if (failure !== undefined) {
          account.wrong.push(`${name}: ${failure}`);
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    account.hung++;
  };
  let left = calls;
  const work = async (): Promise<void> => {
    while (left > 0) {
      const shared = random() < 0.1;
      const duplicated = random() < 0.1;
      const onceKey = createOnceKey();
      const fate = fateOf(doomOf());
      const tenants = shared ? [0, 1] : [random() < 0.5 ? 0 : 1];
      left -= tenants.length;
      await Promise.all(
        tenants.flatMap((index) => {
          const call = (): Promise<void> =>
            one(connections[index] as Connection, TENANTS[index] as string, onceKey, fate);
          return duplicated ? [call(), call()] : [call()];
        }),
      );
    }
  };
  let storeKills = 0;
  const over = new AbortController();
  // The delay until the next kill begins when the store is available again, since restarting takes a different time on
  // each machine.
  const killAgain = async (killed: RedisServer): Promise<void> => {
    while (await passed(STORE_LIVES_MS, over.signal)) {
      storeKills++;
      await killed.kill();
      await killed.run();
    }
  };
  const killing = redis === undefined ? undefined : killAgain(redis);
  const moving = setInterval(() => link.move(), 1500);
  try {
    await Promise.all(Array.from({ length: workers }, work));
  } finally {
    over.abort();
    clearInterval(moving);
    await killing;
    await Promise.all(faults);
    await Promise.all(connections.map((connection) => connection.close()));
    await server.end();
    link.close();
  }
  const effects = new Map<string, number>();
  for (const line of readFileSync(journal, "utf8").trim().split("\n")) effects.set(line, (effects.get(line) ?? 0) + 1);
  account.answered = answered.length;
  account.unknown = unknown.length;
  account.unknownEffects = unknown.filter((name) => effects.has(name)).length;
  account.missing = answered.filter((name) => !effects.has(name)).length;
  account.twice = [...effects.values()].filter((count) => count > 1).length;
  account.kills = server.kills + storeKills;
  return account;
}

/** Resolves with whether this many milliseconds passed before the signal fired. */
async function passed(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false);
}
