// A service with blobs, served to requests as of fetch, over HTTP/1.1 and over HTTP/2.
import { connect } from "node:http2";
import type { BlobSource } from "@quicrpc/blobs";
import { createFetchHandler, type Fetch, http2Fetch, type HttpServiceOptions } from "@quicrpc/http";
import {
  type BlobsCheckInputParsed,
  type BlobsPutInputParsed,
  type BlobsSameInputParsed,
  type BlobsSameOutput,
  createBlobsRouter,
} from "./generated/blobs.js";
import { serveHttp, type Http2Way } from "./service.js";

const SERVICE = "test.v1.HttpBlobs";

export const MAX_BYTES = 1_000_000;

export interface BlobHandlers {
  put: (input: BlobsPutInputParsed, signal: AbortSignal) => Promise<string>;
  get: (name: string) => { file?: BlobSource };
  check: (input: BlobsCheckInputParsed) => Promise<string>;
  same: (input: BlobsSameInputParsed) => Promise<BlobsSameOutput>;
}

export const patterned = (length: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(length).map((_, at) => (at * 31) % 251);

export interface Running {
  /** The URL of the service. */
  readonly url: string;
  /** Makes a request, with its answer. */
  readonly ask: (
    method: string,
    path: string,
    headers?: Readonly<Record<string, string>>,
    body?: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | string,
  ) => Promise<Response>;
  readonly fetch: Fetch;
  readonly errors: readonly string[];
  close(): Promise<void>;
}

export const SERVERS = ["fetch", "HTTP/1.1", "HTTP/2", "HTTP/2 by streams"] as const;
const HTTP2 = new Map<string, Http2Way>([
  ["HTTP/2", "requests"],
  ["HTTP/2 by streams", "streams"],
]);

export async function serveBlobs(
  kind: (typeof SERVERS)[number],
  handlers: Partial<BlobHandlers> = {},
  options: Partial<HttpServiceOptions> = {},
): Promise<Running> {
  const given: BlobHandlers = {
    put: async ({ note, file }) => `${note}: ${file.name}, ${file.type}, ${(await file.bytes()).length}`,
    get: () => ({}),
    check: async ({ file }) => `${file.id} ${(await file.bytes()).length}`,
    same: async () => ({}),
    ...handlers,
  };
  const routers = [
    createBlobsRouter({
      put: (input, { signal }) => given.put(input, signal),
      get: (name) => given.get(name),
      check: (input) => given.check(input),
      same: (input) => given.same(input),
    }),
  ];
  let base = "http://localhost";
  let fetch: Fetch & { close?(): void } = (url, init) => globalThis.fetch(url, init);
  let close = async (): Promise<void> => {};
  let errors: string[] = [];
  if (kind === "fetch") {
    const onError = (error: unknown): void => void errors.push(String(error));
    const handler = createFetchHandler({ routers, onError, ...options });
    fetch = (url, init) => handler(new Request(url, init), { address: "192.0.2.1" });
  } else {
    const running = await serveHttp({ routers, ...options }, HTTP2.get(kind));
    base = new URL(running.url).origin;
    errors = running.errors;
    if (HTTP2.has(kind)) fetch = http2Fetch(connect);
    close = async () => {
      fetch.close?.();
      await running.close();
    };
  }
  return {
    url: `${base}/${SERVICE}`,
    fetch,
    errors,
    close,
    ask: (verb, path, headers = {}, body) => {
      const url = path.startsWith("/") ? base + path : `${base}/${SERVICE}/${path}`;
      const signal = new AbortController().signal;
      // As HTTP/1.1 has it.
      const length = kind !== "HTTP/1.1" && body instanceof Uint8Array && { "content-length": String(body.length) };
      const init = {
        method: verb as "GET",
        headers: new Headers({ ...headers, ...length }),
        signal,
        redirect: "manual" as const,
      };
      if (body === undefined) return fetch(url, init);
      const duplex = body instanceof ReadableStream ? { duplex: "half" as const } : {};
      return fetch(url, { ...init, ...duplex, body: body as Uint8Array<ArrayBuffer> });
    },
  };
}
