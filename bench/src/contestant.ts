/** The server's certificate, which is all that a client trusts. */
export interface Certificate {
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS #8; empty at a client. */
  readonly key: string;
  readonly hash: { readonly algorithm: "sha-256"; readonly value: Uint8Array<ArrayBuffer> };
}

/** One way to call methods of another process, over TLS 1.3 unless it says otherwise. Its processes run Node. */
export interface Contestant {
  /** Serves on a free port of `host` and resolves with the port. */
  serve(host: string, certificate: Certificate): Promise<number>;
  /** Opens one connection that is ready for calls. */
  connect: Connect;
  /** Opens a connection and resumes an earlier session if there is a ticket. */
  resume?: Connect;
}

type Connect = (this: void, host: string, port: number, certificate: Certificate) => Promise<Client>;

/** The operations of a contestant; it does not support those that it leaves out. */
export interface Client {
  multiply(a: number, b: number): Promise<number>;
  empty(): Promise<unknown>;
  echo(bytes: Uint8Array): Promise<Uint8Array>;
  /** Makes a call that is answered after `ms` milliseconds. */
  wait(ms: number): Promise<unknown>;
  /** Sends a message of this kind, which the server sends back. */
  message?(of: "user" | "points", value: unknown): Promise<unknown>;
  /** Sends `count` notifications, and resolves when the server has received them all. */
  notify?(count: number): Promise<void>;
  /** Receives a stream of `count` small items, and resolves with the number received. */
  items?(count: number): Promise<number>;
  /** Streams `count` chunks to the server, and resolves with the number of bytes that it received. */
  upload?(chunk: Uint8Array, count: number): Promise<number>;
  /** Streams chunks that the server sends back, and resolves with the number of bytes that came back. */
  pipe?(chunk: Uint8Array, count: number): Promise<number>;
  close(): Promise<void> | void;
}

/** The handlers of every contestant's server. */
export const service = {
  multiply: (a: number, b: number): number => a * b,
  wait: (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Counts notifications; `told` resolves when `expected` have arrived since the previous call. */
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
