import { createServer } from "node:net";
import { type DescribedNetwork, type Link, openNetwork } from "@quicrpc/testing";
import { urlPortOf, withPort } from "./addresses.js";

/** Simulated networks between clients and the program's ports. They continue when the program restarts. */
export class Networks {
  private readonly described: DescribedNetwork;
  private readonly seed: number;
  private readonly links: Map<number, Link> = new Map();
  /** Port on which the program must listen (`from`), and port to which clients connect (`to`). */
  private readonly moved: { readonly from: number; readonly to: number };

  private constructor(described: DescribedNetwork, seed: number, moved: { from: number; to: number }) {
    this.described = described;
    this.seed = seed;
    this.moved = moved;
  }

  /**
   * Chooses a free port for the program, because clients reach it at `port` through a simulated network. Opens no
   * network: `urlThrough` does.
   */
  static async prepare(described: DescribedNetwork, seed: number, port: number): Promise<Networks> {
    return new Networks(described, seed, { from: await freePort(), to: port });
  }

  get programPort(): number {
    return this.moved.from;
  }

  /**
   * Returns the URL at which clients reach a listener on `url` through the network. A URL without a port is returned
   * unchanged.
   */
  async urlThrough(url: string): Promise<string> {
    const port = urlPortOf(url);
    if (port === 0) return url;
    const link = this.links.get(port) ?? (await this.open(url, port));
    return withPort(url, link.port);
  }

  close(): void {
    for (const link of this.links.values()) link.close();
  }

  private async open(url: string, port: number): Promise<Link> {
    const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
    const target = {
      host: host === "0.0.0.0" || host === "localhost" ? "127.0.0.1" : host === "::" ? "::1" : host,
      port,
    };
    // If the program does not read the variable PORT, the network uses its own port.
    const listen = {
      host: host === "localhost" ? "127.0.0.1" : host,
      port: port === this.moved.from ? this.moved.to : 0,
    };
    const { conditions, outages } = this.described;
    const link = await openNetwork({ target, listen, conditions, outages, seed: this.seed }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      const advice = "stop the process that uses it, or choose another port with --port";
      throw new Error(`the network cannot listen on port ${listen.port}, which is in use: ${advice}`, { cause: error });
    });
    this.links.set(port, link);
    return link;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as { readonly port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}
