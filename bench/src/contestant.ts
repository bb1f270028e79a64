import type { DevCertificate } from "@quicrpc/node";

/** One way to call `multiply` of another process, over TLS 1.3, one connection. */
export interface Contestant {
  readonly name: string;
  /** Serves on a free port of 127.0.0.1 and resolves with it. */
  serve(certificate: DevCertificate): Promise<number>;
  connect(port: number, certificate: DevCertificate): Promise<Client>;
}

export interface Client {
  multiply(a: number, b: number): Promise<number>;
  close(): Promise<void> | void;
}
