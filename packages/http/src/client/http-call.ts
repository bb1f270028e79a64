import { type CallOptions, Metadata, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { asError, fullName, guarded, throwIfAborted, timeoutOf, type Timers, watchCall } from "@quicrpc/core/internal";
import { requireSmall, writeHeaders, readHeaders, TRAILER_PREFIX } from "../protocol/headers.js";
import { TIMEOUT_HEADER, writeTimeout, VERSION, VERSION_HEADER } from "../protocol/request-headers.js";
import type { FetchInit } from "./options.js";
import type { HttpClient } from "./http-client.js";
import { contentType } from "../protocol/content-type.js";

/** Longest delay of a platform timer, in milliseconds. */
const MAX_DELAY = 2 ** 31 - 1;

/** One platform timer per deadline: it costs little compared with a request, and a page needs no timer queue. */
const timers: Timers<Timer> = {
  add: (delayMs, onExpired) => setTimeout(onExpired, Math.min(delayMs, MAX_DELAY)),
  remove: (timer) => clearTimeout(timer),
};

/** Milliseconds for which the server may still end a call whose deadline has passed. */
const LINGER_MS = 1000;

/** Options of a request, without the fields that are the same for all. Default of `redirect`: "manual". */
type HttpRequest = Omit<FetchInit, "headers" | "signal" | "redirect"> & Partial<Pick<FetchInit, "redirect">>;

/** A call over HTTP, from its request to its end. Each kind of call decides how the response is read. */
export class HttpClientCall {
  readonly client: HttpClient;
  readonly method: AnyMethod;
  readonly options: CallOptions | undefined;
  over = false;
  /** True if the deadline has passed but the request continues for a moment. */
  lingers = false;
  /** Called once when the call is over, successfully or not. */
  onSettled: (() => void) | undefined = undefined;
  readonly #controller: AbortController = new AbortController();
  readonly #headers: Headers;
  readonly #onFailed: (error: RpcError) => void;
  readonly #unwatch: (() => void) | undefined;
  /** Timer that ends the request of a call whose deadline has passed. */
  #lingering: ReturnType<typeof setTimeout> | undefined = undefined;

  /**
   * Throws `RpcError` for options that cannot be carried, and if the call is already over, such as by its deadline.
   *
   * @param onFailed called once with the error if the call fails
   */
  constructor(
    client: HttpClient,
    method: AnyMethod,
    options: CallOptions | undefined,
    onFailed: (error: RpcError) => void,
  ) {
    this.client = client;
    this.method = method;
    this.options = options;
    this.#onFailed = onFailed;
    const timeoutMs = timeoutOf(options, client.limits);
    throwIfAborted(options);
    const headers = new Headers(client.options.headers);
    headers.set(VERSION_HEADER, VERSION);
    if (timeoutMs !== undefined) headers.set(TIMEOUT_HEADER, writeTimeout(timeoutMs));
    if (options?.metadata !== undefined) writeHeaders(metadataOf(options, client.limits.maxMetadataBytes), headers);
    this.#headers = headers;
    this.#unwatch = watchCall(options, timeoutMs, { cancel: (error) => this.fail(error) }, timers);
    client.calls.add(this);
  }

  /** Ends the call with an error. Also ends its request, unless the server has responded completely. No effect after the call is over. */
  fail(error: unknown, progress?: "answered"): void {
    if (this.over) return;
    // The server ends the call by its own clock too and responds, so that the connection can be reused.
    this.lingers = error instanceof RpcError && error.code === "deadline_exceeded" && progress !== "answered";
    this.settle();
    this.#onFailed(RpcError.from(error, "internal"));
    if (progress === "answered") return;
    const abort = (): void => this.#controller.abort(error);
    if (this.lingers) this.#lingering = timers.add(LINGER_MS, abort);
    else abort();
  }

  /** Called when the call is over, successfully or not. */
  settle(): void {
    if (this.over) return;
    this.over = true;
    this.#unwatch?.();
    this.client.settled(this);
    this.onSettled?.();
  }

  /** Sends the request and returns the head of its response. Throws `RpcError` if there is no response. */
  send(
    request: HttpRequest,
    headers: Readonly<Record<string, string | undefined>>,
    query: string = "",
  ): Promise<Response> {
    return this.#fetch(request, withFields(this.#headers, headers), query);
  }

  /**
   * Sends one of several requests of the call, for a resource below its method.
   *
   * @param path begins with "/"
   */
  sendTo(
    path: string,
    request: Pick<FetchInit, "method" | "body">,
    headers: Readonly<Record<string, string | undefined>>,
  ): Promise<Response> {
    return this.#fetch(request, withFields(new Headers(this.#headers), headers), path);
  }

  async #fetch(request: HttpRequest, headers: Headers, suffix: string): Promise<Response> {
    const { client } = this;
    // Not called as a method: the platform's `fetch` throws if `this` is another object.
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

  /** Called when the server has responded completely. */
  answered(): void {
    if (this.#lingering !== undefined) timers.remove(this.#lingering);
  }

  /** Called when the response's metadata, or its trailers, have arrived. */
  heard(metadata: Metadata | undefined, trailers: Metadata | undefined): void {
    const { onResponseMetadata, onTrailers } = this.options ?? {};
    if (metadata !== undefined && onResponseMetadata !== undefined) guarded(onResponseMetadata)(metadata);
    if (trailers !== undefined && onTrailers !== undefined) guarded(onTrailers)(trailers);
  }

  /** Runs `part`, which decodes a part of the response. Throws `RpcError` if it cannot be decoded. */
  read<T>(part: () => T): T {
    try {
      return part();
    } catch (error) {
      throw this.unreadable(error);
    }
  }

  /** Returns the error for a response that cannot be decoded. It is always a fault of the sender, whatever code the decoder throws. */
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

function metadataOf({ metadata: init }: CallOptions, maxBytes: number): Metadata {
  let metadata: Metadata;
  try {
    metadata = Metadata.from(init);
  } catch (error) {
    throw RpcError.from(error, "invalid_argument");
  }
  requireSmall(metadata, maxBytes);
  return metadata;
}

/** System error codes of requests that were never sent, so that the call may be repeated. */
const UNSENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/** Returns the error for a request without a response. The error of `fetch` says little; its cause says more. */
function unreached(error: unknown, peer: string): RpcError {
  if (error instanceof RpcError) return error;
  const { why, code } = reasonOf(asError(error));
  // Node's message for a redirected request that streams its body.
  if (why === "unexpected redirect")
    return new RpcError("unknown", `${peer} redirects to another URL`, { cause: error });
  return new RpcError("unavailable", `no answer by HTTP from ${peer}: ${why}`, {
    cause: error,
    refused: UNSENT.test(code),
    hint: "is the server running at this URL, is its certificate trusted, and do its allowedOrigins have this page?",
  });
}

/** Returns the message and system code of an error's cause. A custom `fetch` may throw anything. */
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

/**
 * Checks the head of a response, and gives the call its metadata. Throws the error that the response contains, or an
 * error that describes the response if it is not of this protocol.
 */
export async function requireAnswer(call: HttpClientCall, response: Response, stream: boolean): Promise<void> {
  const { status, headers } = response;
  const [type = ""] = (headers.get("content-type") ?? "").toLowerCase().split(";");
  if (status !== 200 || type.trim() !== contentType({ codec: call.client.codec.name, stream })) {
    throw await failureLater(call, response, stream);
  }
  const metadata = call.read(() => readHeaders(headers));
  call.heard(metadata, stream ? undefined : call.read(() => readHeaders(headers, TRAILER_PREFIX)));
}

/**
 * Returns the error of an unsuccessful response. The code for it is loaded with the first such response; if it cannot
 * be loaded, the call fails too.
 */
export async function failureLater(call: HttpClientCall, response: Response, stream: boolean): Promise<RpcError> {
  try {
    const { failureOf } = await call.client.later();
    return await failureOf(call, response, stream);
  } catch (error) {
    if (error instanceof RpcError) return error;
    const text = `${call.client.peer} answered with HTTP status ${response.status}, and what it says could not be read`;
    return new RpcError("unknown", text, { cause: error });
  }
}
