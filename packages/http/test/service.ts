import { type Router, RpcError, rpcError } from "@quicrpc/core";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createH2c } from "node:http2";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createFetchHandler, type HttpServiceOptions, toNodeHandler } from "@quicrpc/http";
import { closedAfterEach } from "../../../test/open.js";
import { createHttpRouter, httpMethods } from "./generated/http.js";

/** Observations of handlers, for tests to look at. */
export interface Seen {
  /** Reasons of signals that have fired. */
  readonly aborted: string[];
  readonly notes: string[];
  /** Handlers of `wait` that run. */
  waiting: number;
  /** Items that `endless` has given. */
  given: number;
  /** Called when one of the above has changed. */
  onChange: (() => void) | undefined;
}

export function newRouter(seen: Seen): Router {
  let effects = 0;
  return createHttpRouter({
    charge({ amount, at }) {
      effects++;
      if (amount === 0n) throw rpcError(httpMethods.charge, "BROKE", { since: at });
      return { amount: amount * 2n, at, effects };
    },
    echo: (input) => input,
    change: (input) => input,
    nothing() {},
    kinds: (input) => input,
    fail() {
      throw rpcError(httpMethods.fail, "EMPTY", { left: 3, at: new Date(0) }, { message: "none left" });
    },
    crash() {
      throw new Error("a secret");
    },
    wait(_, { signal }) {
      seen.waiting++;
      seen.onChange?.();
      return new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          seen.aborted.push((signal.reason as RpcError).code);
          resolve();
          seen.onChange?.();
        });
      });
    },
    *items({ n, size, failAfter }) {
      for (let i = 0; i < n; i++) yield size === undefined ? { i } : { i, pad: "x".repeat(size) };
      if (failAfter === true) throw new RpcError("data_loss", "the rest is gone");
    },
    *follow({ upTo, breakAfter = upTo }, { resumeFrom }) {
      const first = Number(resumeFrom ?? 0) + 1;
      for (let i = first; i <= upTo; i++) {
        if (i - first === breakAfter) throw new RpcError("unavailable", "the server goes away");
        yield { i };
      }
    },
    async sum(numbers) {
      let sum = 0;
      for await (const number of numbers) sum += number;
      return sum;
    },
    async *chat(texts) {
      for await (const text of texts) yield text.toUpperCase();
    },
    note: ({ text }) => {
      seen.notes.push(text);
      seen.onChange?.();
    },
    metadata(_, context) {
      context.responseMetadata.append("x-said", "head").append("x-bytes-bin", Uint8Array.of(255, 0));
      context.trailers.append("x-cost", "7");
      return Object.fromEntries(Array.from(context.metadata, ([key, value]) => [key, String(value)]));
    },
    async upload(pieces) {
      let size = 0;
      for await (const piece of pieces) size += piece.length;
      return size;
    },
    async *endless(_, { signal }) {
      signal.addEventListener("abort", () => {
        seen.aborted.push((signal.reason as RpcError).code);
        seen.onChange?.();
      });
      for (let i = 0; ; i++) {
        seen.given++;
        if (i === 0) seen.onChange?.();
        yield { i, pad: "x".repeat(10_000) };
        await Promise.resolve();
      }
    },
  });
}

const BASE = "/test.v1.Http/";

/** A server in this process. */
export interface Running {
  readonly url: string;
  readonly port: number;
  readonly seen: Seen;
  readonly errors: string[];
  readonly handler: ReturnType<typeof createFetchHandler>;
  /** Fulfils when `holds` does, which is asked after each change of `seen`. */
  readonly until: (holds: (seen: Seen) => boolean) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The ways to take requests of HTTP/2: in the shape of HTTP/1.1, and as streams. */
export const HTTP2_WAYS = ["requests", "streams"] as const;
export type Http2Way = (typeof HTTP2_WAYS)[number];

/** The answer of Node's to a request, as far as tests look at it. */
export interface AnswerOfNode {
  write(...given: unknown[]): boolean;
}

/**
 * Serves the methods by `node:http`, or by HTTP/2 without TLS.
 * @param onAnswer receives what each request is answered by
 */
export async function serveHttp(
  options: Partial<HttpServiceOptions> = {},
  http2?: Http2Way,
  onAnswer: (answer: AnswerOfNode) => void = () => {},
): Promise<Running> {
  const seen: Seen = { aborted: [], notes: [], waiting: 0, given: 0, onChange: undefined };
  const errors: string[] = [];
  const handler = createFetchHandler({
    routers: [newRouter(seen)],
    onError: (error, { method }) => errors.push(`${method}: ${String(error)}`),
    ...options,
  });
  const listener = toNodeHandler(handler);
  const onRequest: RequestListener = (request, response) => {
    onAnswer(response);
    listener(request, response);
  };
  const server =
    http2 === "streams"
      ? createH2c().on("stream", (stream, headers) => {
          onAnswer(stream);
          listener.http2(stream, headers);
        })
      : http2 === undefined
        ? createHttp(onRequest)
        : createH2c(onRequest as never);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${BASE}`,
    port,
    seen,
    errors,
    handler,
    until: (holds) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (holds(seen)) resolve();
        };
        seen.onChange = check;
        check();
      }),
    close: async () => {
      if ("closeAllConnections" in server) server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns `serveHttp` whose servers end after each test. */
export function servingInTests(): typeof serveHttp {
  const open = closedAfterEach();
  return async (...given) => {
    const running = await serveHttp(...given);
    open.push(running);
    return running;
  };
}
