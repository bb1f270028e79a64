import { type CallOptions, Metadata, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { asError, fullName, guarded, throwIfAborted, timeoutOf, type Timers, watchCall } from "@quicrpc/core/transport";
import { requireSmall, writeHeaders } from "../protocol/headers.js";
import { TIMEOUT_HEADER, writeTimeout } from "../protocol/timeout.js";
import { VERSION, VERSION_HEADER } from "../protocol/version.js";
import type { FetchInit } from "./options.js";
import type { HttpClient } from "./http-client.js";

/** Largest delay of a platform's timer. */
const MAX_DELAY = 2 ** 31 - 1;

/** A timer of the platform for each deadline: it costs little beside a request, and a page needs no queue of its own. */
const timers: Timers<Timer> = {
  add: (delayMs, onExpired) => setTimeout(onExpired, Math.min(delayMs, MAX_DELAY)),
  remove: (timer) => clearTimeout(timer),
};

/** Milliseconds that the server has to end a call whose deadline has passed. */
const LINGER_MS = 1000;

/** A request, without the fields that are the same for all. Default of `redirect`: "manual". */
type HttpRequest = Omit<FetchInit, "headers" | "signal" | "redirect"> & Partial<Pick<FetchInit, "redirect">>;

/** One call over HTTP, from its request to its end; what is made of its answer its kind knows. */
export class HttpCall {
  readonly client: HttpClient;
  readonly method: AnyMethod;
  readonly options: CallOptions | undefined;
  over = false;
  /** Its deadline has passed, and its request goes on for a moment. */
  lingers = false;
  /** Called once when the call fails, with its error. */
  onFailed: (error: RpcError) => void;
  /** Called once when the call is over, whichever way. */
  onSettled: (() => void) | undefined = undefined;
  readonly #controller: AbortController = new AbortController();
  readonly #headers: Headers;
  readonly #unwatch: (() => void) | undefined;
  /** Ends the request of a call whose deadline has passed. */
  #lingering: ReturnType<typeof setTimeout> | undefined = undefined;

  /** Throws `RpcError` for options that cannot be carried, and where the call is over before it begins. */
  constructor(
    client: HttpClient,
    method: AnyMethod,
    options: CallOptions | undefined,
    onFailed: (error: RpcError) => void,
  ) {
    this.client = client;
    this.method = method;
    this.options = options;
    this.onFailed = onFailed;
    const timeoutMs = timeoutOf(options, client.limits);
    throwIfAborted(options);
    const headers = new Headers(client.options.headers);
    headers.set(VERSION_HEADER, VERSION);
    if (timeoutMs !== undefined) headers.set(TIMEOUT_HEADER, writeTimeout(timeoutMs));
    if (options?.metadata !== undefined) writeHeaders(metadataOf(options, client.limits.maxMetadataBytes), headers);
    this.#headers = headers;
    this.#unwatch = watchCall(options, timeoutMs, { giveUp: (error) => this.fail(error) }, timers);
    client.calls.add(this);
  }

  /**
   * Ends the call with its error, and its request, unless the server has answered all of it. Without effect once the call is over.
   */
  fail(error: unknown, progress?: "answered"): void {
    if (this.over) return;
    // The server's own clock ends the call there too, with an answer: the connection can be used again.
    this.lingers = error instanceof RpcError && error.code === "deadline_exceeded" && progress !== "answered";
    this.settle();
    this.onFailed(RpcError.from(error, "internal"));
    if (progress === "answered") return;
    const abort = (): void => this.#controller.abort(error);
    if (this.lingers) this.#lingering = timers.add(LINGER_MS, abort);
    else abort();
  }

  /** The call is over, whichever way. */
  settle(): void {
    if (this.over) return;
    this.over = true;
    this.#unwatch?.();
    this.client.settled(this);
    this.onSettled?.();
  }

  /** Sends the request, and returns the head of its answer. Throws `RpcError` where there is none. */
  send(
    request: HttpRequest,
    headers: Readonly<Record<string, string | undefined>>,
    query: string = "",
  ): Promise<Response> {
    return this.#fetch(request, withFields(this.#headers, headers), query);
  }

  /** Makes one of several requests of the call, for something below its method: `path` begins with "/". */
  sendTo(
    path: string,
    request: Pick<FetchInit, "method" | "body">,
    headers: Readonly<Record<string, string | undefined>>,
  ): Promise<Response> {
    return this.#fetch(request, withFields(new Headers(this.#headers), headers), path);
  }

  async #fetch(request: HttpRequest, headers: Headers, suffix: string): Promise<Response> {
    const { client } = this;
    // Not as a method: the platform's `fetch` does not run as one of another object.
    const { credentials, fetch = globalThis.fetch } = client.options;
    const token = typeof credentials === "function" ? await credentials() : credentials;
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    const { signal } = this.#controller;
    try {
      return await fetch(`${client.base}${fullName(this.method)}${suffix}`, {
        redirect: "manual",
        ...request,
        headers,
        signal,
      });
    } catch (error) {
      throw unreached(error, client.peer);
    }
  }

  /** The server has answered all of the request. */
  answered(): void {
    if (this.#lingering !== undefined) timers.remove(this.#lingering);
  }

  /** The answer's metadata, or its trailers, have come. */
  heard(metadata: Metadata | undefined, trailers: Metadata | undefined): void {
    const { onResponseMetadata, onTrailers } = this.options ?? {};
    if (metadata !== undefined && onResponseMetadata !== undefined) guarded(onResponseMetadata)(metadata);
    if (trailers !== undefined && onTrailers !== undefined) guarded(onTrailers)(trailers);
  }

  /** Runs `part`, which reads a part of the answer. Throws `RpcError` where that cannot be read. */
  read<T>(part: () => T): T {
    try {
      return part();
    } catch (error) {
      throw this.unreadable(error);
    }
  }

  /** Returns the error of an answer that cannot be read: its sender is to blame, whatever the reader of its parts calls it. */
  unreadable(error: unknown): RpcError {
    const { code, message, details } = RpcError.from(error, "internal");
    const kept = code === "resource_exhausted" || code === "unimplemented";
    const text = `the answer of ${fullName(this.method)} cannot be read: ${message}`;
    return new RpcError(kept ? code : "internal", text, { details, cause: error });
  }
}

function withFields(headers: Headers, fields: Readonly<Record<string, string | undefined>>): Headers {
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) headers.set(name, value);
  return headers;
}

function metadataOf({ metadata: given }: CallOptions, maxBytes: number): Metadata {
  let metadata: Metadata;
  try {
    metadata = Metadata.from(given);
  } catch (error) {
    throw RpcError.from(error, "invalid_argument");
  }
  requireSmall(metadata, maxBytes);
  return metadata;
}

/** Codes of the system where a request has not left: the call may be made again. */
const UNSENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Returns the error of a request without an answer. `fetch` itself says little about why; the cause of its error says more. */
function unreached(error: unknown, peer: string): RpcError {
  if (error instanceof RpcError) return error;
  const { why, code } = reasonOf(asError(error));
  // Node's message for a request that streams its body.
  if (why === "unexpected redirect")
    return new RpcError("unknown", `${peer} redirects to another URL`, { cause: error });
  return new RpcError("unavailable", `no answer by HTTP from ${peer}: ${why}`, {
    cause: error,
    refused: UNSENT.test(code),
    hint: "is the server running at this URL, is its certificate trusted, and do its allowedOrigins have this page?",
  });
}

/** Returns the message and the system's code of an error's cause. A `fetch` of the application may throw anything. */
function reasonOf(error: Error): { readonly why: string; readonly code: string } {
  try {
    const { code, message } = (error.cause ?? {}) as { readonly code?: unknown; readonly message?: unknown };
    const known = typeof code === "string" ? code : "";
    const why = typeof message === "string" && message !== "" ? message : known;
    return { why: why || error.message, code: known };
  } catch {
    return { why: error.message, code: "" };
  }
}

type Timer = ReturnType<typeof setTimeout>;
