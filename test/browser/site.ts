import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A file of a site. */
export interface File {
  readonly body: string | Uint8Array;
  /** Default `text/javascript`. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** True if the server never answers requests for the file. Default false. */
  readonly isSilent?: boolean;
}

/** A web server of files in memory, with an empty page wherever there is none. It ignores queries, unless a file has one. */
export class Site {
  readonly files: Map<string, File> = new Map();
  private readonly server: Server = createServer(({ url = "" }, response) => {
    const file = this.files.get(url) ?? this.files.get(url.replace(/\?.*/, "")) ?? EMPTY_PAGE;
    const { body, type = "text/javascript", headers = {}, isSilent } = file;
    if (!isSilent) response.writeHead(200, { "content-type": type, ...headers }).end(body);
  });

  private constructor() {}

  static async start(): Promise<Site> {
    const site = new Site();
    await new Promise<void>((listening) => site.server.listen(0, "127.0.0.1", listening));
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
  }
}

const EMPTY_PAGE: File = { body: "<!doctype html>", type: "text/html" };
