import { type CallOptions, Metadata, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { asError, fullName, guarded, throwIfAborted, timeoutOf, type Timers, watchCall } from "@quicrpc/core/internal";
import { requireSmall, writeHeaders, readHeaders, TRAILER_PREFIX } from "../protocol/headers.js";
import { TIMEOUT_HEADER, writeTimeout, VERSION, VERSION_HEADER } from "../protocol/request-headers.js";
import type { FetchInit } from "./options.js";
import type { HttpClient } from "./http-client.js";
import { contentType } from "../protocol/content-type.js";

/** Maximum delay of a platform timer, in milliseconds. */
const MAX_DELAY = 2 ** 31 - 1;

/**
 * Creates one platform timer for each deadline. That costs little compared with a request, and page bundles stay small
 * without a timer queue.
 */
const timers: Timers<Timer> = {
  add: (delayMs, onExpired) => setTimeout(onExpired, Math.min(delayMs, MAX_DELAY)),
  remove: (timer) => clearTimeout(timer),
};

/**
 * Milliseconds after a call's deadline during which the client still waits for the server's response, so that the
 * connection can be reused.
 */
const LINGER_MS = 1000;

/** Options that differ between requests. Default of `redirect`: "manual". */
type HttpRequest = Omit<FetchInit, "headers" | "signal" | "redirect"> & Partial<Pick<FetchInit, "redirect">>;

/** An outgoing call over HTTP. Each kind of call decides how it reads the response. */
export class HttpClientCall {
  readonly client: HttpClient;
  readonly method: AnyMethod;
  readonly options: CallOptions | undefined;
  over = false;
  /** True if the deadline has passed and the client waits for the server's response for up to `LINGER_MS`. */
  lingers = false;
  onSettled: (() => void) | undefined = undefined;
  /** Header fields of each request of the call. */
  readonly headers: Headers;
  /** Aborts the request. Its signal, which is slow to create, is for protocols that cannot abort in another way. */
  readonly controller: AbortController = new AbortController();
  readonly #onFailed: (error: RpcError) => void;
  readonly #unwatch: (() => void) | undefined;
  #lingering: ReturnType<typeof setTimeout> | undefined = undefined;

  /**
   * Starts the call's deadline. Throws `RpcError` if HTTP does not support one of the options, or if the call has
   * already ended, for example because its deadline has passed.
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
    this.headers = headers;
    this.#unwatch = watchCall(options, timeoutMs, { cancel: (error) => this.fail(error) }, timers);
    client.calls.add(this);
  }

  /**
   * Ends the call with an error. Also aborts its request, unless the response is complete. Has no effect after the call
   * has ended.
   */
  fail(error: unknown, progress?: "answered"): void {
    if (this.over) return;
    // The server has its own timer for the deadline. If the client waits for its response, the connection can be
    // reused.
    this.lingers = error instanceof RpcError && error.code === "deadline_exceeded" && progress !== "answered";
    this.settle();
    this.#onFailed(RpcError.from(error, "internal"));
    if (progress === "answered") return;
    const abort = (): void => this.controller.abort(error);
    if (this.lingers) this.#lingering = timers.add(LINGER_MS, abort);
    else abort();
  }

  /** Ends the call without aborting its request. Called when the call has ended, successfully or not. */
  settle(): void {
    if (this.over) return;
    this.over = true;
    this.#unwatch?.();
    this.client.settled(this);
    this.onSettled?.();
  }

  /**
   * Sends the request, or one of several to a path below that of the method. Resolves with the response as soon as its
   * head has arrived. Throws `RpcError` if there is no response.
   *
   * @param suffix of the URL: begins with "/" or "?"
   */
  send(
    request: HttpRequest,
    fields: Readonly<Record<string, string | undefined>>,
    suffix: string = "",
  ): Promise<Response> {
    const { client, method, controller } = this;
    const { signal } = controller;
    // `fetch` is called as a function, because the platform's `fetch` throws if `this` is another object.
    const { fetch = globalThis.fetch } = client.options;
    const headers = new Headers(this.headers);
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) headers.set(name, value);
    return this.request(headers, () =>
      fetch(client.base + fullName(method) + suffix, { redirect: "manual", ...request, headers, signal }),
    );
  }

  /** Adds the client's credentials to header fields, and sends a request. Throws `RpcError` if `make` fails. */
  async request<T>(headers: Headers, make: () => T | Promise<T>): Promise<T> {
    const { credentials } = this.client.options;
    const token = typeof credentials === "function" ? await credentials() : credentials;
    if (token !== undefined) {
      try {
        headers.set("authorization", `Bearer ${token}`);
      } catch {
        // The platform's error contains the token.
        throw new RpcError("invalid_argument", "HTTP headers do not carry these credentials");
      }
    }
    try {
      return await make();
    } catch (error) {
      throw unreached(error, this.client.peer);
    }
  }

  /** Called when the whole response has arrived. */
  answered(): void {
    if (this.#lingering !== undefined) timers.remove(this.#lingering);
  }

  heard(metadata: Metadata | undefined, trailers: Metadata | undefined): void {
    const { onResponseMetadata, onTrailers } = this.options ?? {};
    if (metadata !== undefined && onResponseMetadata !== undefined) guarded(onResponseMetadata)(metadata);
    if (trailers !== undefined && onTrailers !== undefined) guarded(onTrailers)(trailers);
  }

  /** Runs `part`, which decodes a part of the response, and returns its result. Throws `RpcError` if decoding fails. */
  read<T>(part: () => T): T {
    try {
      return part();
    } catch (error) {
      throw this.unreadable(error);
    }
  }

  /**
   * Returns the error for a response that cannot be decoded. It always blames the server, whatever code the decoder
   * throws.
   */
  unreadable(error: unknown): RpcError {
    const { code, message, details } = RpcError.from(error, "internal");
    const kept = code === "resource_exhausted" || code === "unimplemented";
    const text = `the answer of ${fullName(this.method)} cannot be read: ${message}`;
    return new RpcError(kept ? code : "internal", text, { details, cause: error });
  }
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

/** An error of the platform's connection, of which each member may be missing. */
type SystemError = Partial<Record<"code" | "message" | "syscall", string>>;

/** System error codes of requests that were never sent, so that the call may be repeated. */
const UNSENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

/**
 * Returns the error for a request without a response, with the message of its cause: the message of `fetch` itself says
 * little.
 */
export function unreached(error: unknown, peer: string, hint: string = UNREACHED_HINT): RpcError {
  if (error instanceof RpcError) return error;
  let { message: why } = asError(error);
  let refused = false;
  try {
    const { code = "", message, syscall = "" } = (error as { readonly cause: SystemError }).cause;
    why = message || code || why;
    // Reading and writing fail with the same codes after a request was sent.
    refused = UNSENT.test(code) && !/^(read|write)$/.test(syscall);
  } catch {
    // There is no cause. A custom `fetch` may throw anything.
  }
  // Node throws this error if a request that streams its body is redirected.
  if (why === "unexpected redirect")
    return new RpcError("unknown", `${peer} redirects to another URL`, { cause: error });
  return new RpcError("unavailable", `no answer by HTTP from ${peer}: ${why}`, {
    cause: error,
    refused,
    hint,
  });
}

const UNREACHED_HINT =
  "is the server running at this URL, is its certificate trusted, and do its allowedOrigins have this page?";

type Timer = ReturnType<typeof setTimeout>;

/**
 * Checks the status and header fields of a response, and passes its metadata to the call. Throws the error that the
 * response contains, or one that describes the response if no server of this protocol has sent it.
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
 * Returns the error of an unsuccessful response. Loads the code for that on demand; the returned promise rejects if
 * loading fails.
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
