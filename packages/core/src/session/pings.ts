import { deferred, type Deferred } from "../deferred.js";
import type { RpcError } from "../errors.js";

interface Ping {
  readonly sentAt: number;
  readonly answer: Deferred<number> | undefined;
}

/** The pings under way, and the round-trip time they measure. */
export class Pings {
  /** Milliseconds; undefined before the first answer. */
  rttMs: number | undefined = undefined;
  #token = 0;
  #waiting: Map<number, Ping> | undefined = undefined;

  /** Sends one with `send`; resolves with the round-trip time in milliseconds. */
  ping(send: (token: number) => void): Promise<number> {
    const answer = deferred<number>();
    this.#start(send, answer);
    return answer.promise;
  }

  /** Sends a ping without waiting for the pong. */
  probe(send: (token: number) => void): void {
    this.#start(send, undefined);
  }

  /** An answer to no ping is passed over. */
  onPong(token: number): void {
    const ping = this.#waiting?.get(token);
    if (ping === undefined) return;
    this.#waiting?.delete(token);
    this.rttMs = performance.now() - ping.sentAt;
    ping.answer?.resolve(this.rttMs);
  }

  /** Fails pending pings: no answer will arrive. */
  fail(error: RpcError): void {
    this.#waiting?.forEach(({ answer }) => answer?.reject(error));
    this.#waiting = undefined;
  }

  #start(send: (token: number) => void, answer: Deferred<number> | undefined): void {
    const token = this.#token++;
    (this.#waiting ??= new Map()).set(token, { sentAt: performance.now(), answer });
    send(token);
  }
}
