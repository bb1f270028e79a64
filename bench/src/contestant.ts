/** The certificate that a server shows: all that a client trusts. */
export interface Certificate {
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS #8; empty at a client. */
  readonly key: string;
  readonly hash: { readonly algorithm: "sha-256"; readonly value: Uint8Array<ArrayBuffer> };
}

/** One way to call methods of another process, over TLS 1.3 where it says nothing else. Its processes run Node. */
export interface Contestant {
  /** Serves on a free port of `host` and resolves with it. */
  serve(host: string, certificate: Certificate): Promise<number>;
  /** One connection, ready for calls. */
  connect: Connect;
  /** The same, resuming an earlier connection's session where it has a ticket. */
  resume?: Connect;
}

type Connect = (this: void, host: string, port: number, certificate: Certificate) => Promise<Client>;

/** The operations of a contestant; those that it leaves out it cannot do. */
export interface Client {
  multiply(a: number, b: number): Promise<number>;
  empty(): Promise<unknown>;
  echo(bytes: Uint8Array): Promise<Uint8Array>;
  /** Answered after so many milliseconds. */
  wait(ms: number): Promise<unknown>;
  /** Sends a message of this kind, which comes back. */
  message?(of: "user" | "points", value: unknown): Promise<unknown>;
  /** Sends so many notifications, and resolves when the server has received them all. */
  notify?(count: number): Promise<void>;
  /** Resolves with the number of small items received of a stream of so many. */
  items?(count: number): Promise<number>;
  /** Streams so many chunks to the server, and resolves with the bytes it received. */
  upload?(chunk: Uint8Array, count: number): Promise<number>;
  /** As `upload`, where the server sends each chunk back; resolves with the bytes that came back. */
  pipe?(chunk: Uint8Array, count: number): Promise<number>;
  close(): Promise<void> | void;
}

/** The handlers of every contestant's server. */
export const service = {
  multiply: (a: number, b: number): number => a * b,
  wait: (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Counts notifications; `told` resolves when so many have come since the last time. */
export class Tally {
  private count = 0;
  private waiting: { readonly expected: number; readonly resolve: (count: number) => void } | undefined;

  tell(): void {
    this.count++;
    if (this.waiting !== undefined && this.count >= this.waiting.expected) this.settle(this.waiting.resolve);
  }

  told(expected: number): Promise<number> {
    return new Promise((resolve) => {
      if (this.count >= expected) this.settle(resolve);
      else this.waiting = { expected, resolve };
    });
  }

  private settle(resolve: (count: number) => void): void {
    resolve(this.count);
    this.count = 0;
    this.waiting = undefined;
  }
}
