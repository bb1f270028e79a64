import { checkOptions } from "@quicrpc/core/internal";
import type { OnceClaim, OnceState, OnceStore } from "@quicrpc/durable";
import { CLAIM, RELEASE, RENEW, type Script, SETTLE } from "./scripts.js";

/**
 * Redis commands that the store uses. A client of the package `redis` provides them (`createClient` or
 * `createCluster`).
 */
export interface RedisCommands {
  eval(script: string, options: RedisArguments): Promise<unknown>;
  evalSha(sha1: string, options: RedisArguments): Promise<unknown>;
}

interface RedisArguments {
  keys: string[];
  arguments: string[];
}

/** Options of `RedisOnceStore`. */
export interface RedisOnceStoreOptions {
  /** Prefix of the Redis keys. Default: "quicrpc:once:". */
  readonly prefix?: string;
}

/**
 * Stores the results of `once` calls in Redis (version 5 or later) or Valkey. Each call is a hash that expires by
 * itself. Set the eviction policy of the server to `noeviction`, because an evicted call may run again.
 */
export class RedisOnceStore implements OnceStore {
  private readonly client: RedisCommands;
  private readonly prefix: string;

  /** @param client a connected Redis client that reconnects by itself */
  constructor(client: RedisCommands, options: RedisOnceStoreOptions = {}) {
    checkOptions("RedisOnceStore()", options, { prefix: true });
    const { prefix = "quicrpc:once:" } = options;
    this.client = client;
    this.prefix = prefix;
  }

  async claim(id: string, { fingerprint, owner, leaseMs, keepMs, startable }: OnceClaim): Promise<OnceState> {
    const times = [leaseMs, keepMs].map((ms) => String(Math.ceil(ms)));
    return stateOf(await this.run(CLAIM, id, [owner, fingerprint ?? "", ...times, startable ? "1" : "0"]));
  }

  async find(id: string): Promise<OnceState> {
    return stateOf(await this.run(CLAIM, id, ["", "", "0", "0", "0"]));
  }

  async renew(id: string, owner: string, leaseMs: number): Promise<boolean> {
    return (await this.run(RENEW, id, [owner, String(Math.ceil(leaseMs))])) === 1;
  }

  async settle(id: string, owner: string, record: Uint8Array): Promise<boolean> {
    return (await this.run(SETTLE, id, [owner, Buffer.from(record).toString("base64")])) === 1;
  }

  async release(id: string, owner: string): Promise<void> {
    await this.run(RELEASE, id, [owner]);
  }

  private async run({ text, sha1 }: Script, id: string, values: string[]): Promise<unknown> {
    const scriptArgs = { keys: [this.prefix + id], arguments: values };
    try {
      return await this.client.evalSha(sha1, scriptArgs);
    } catch (error) {
      // A server that was restarted, or another server of a cluster, does not have the script.
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
      return this.client.eval(text, scriptArgs);
    }
  }
}

function stateOf(reply: unknown): OnceState {
  const [state, print, record] = (reply as unknown[]).map(String);
  const fingerprint = print === undefined || print === "" ? undefined : print;
  switch (state) {
    case "done":
      return { state, fingerprint, record: new Uint8Array(Buffer.from(record ?? "", "base64")) };
    case "running":
    case "lost":
      return { state, fingerprint };
    case "claimed":
    case "absent":
      return { state };
    default:
      throw new Error(`Redis returned ${String(state)}, which is not a valid state of a call`);
  }
}
