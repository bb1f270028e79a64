import { type Code, RpcError } from "@quicrpc/core";
import { codeFromNumber } from "@quicrpc/core/internal";
import type { ContentCoding, Fetch } from "@quicrpc/http";
import {
  type Envelope,
  ENVELOPE_COMPRESSED,
  type ErrorJson,
  errorToJson,
  FLAG_END,
  jsonBytes,
  readEnvelopes,
  readHeaders,
  requireSmall,
  TRAILER_PREFIX,
  writeEnvelope,
} from "@quicrpc/http/internal";
import { decodedMessage, FLAG_TRAILERS, MAX_RECEIVED_STATUS, readDetails } from "./status.js";

/** How calls are made. */
export interface GrpcSettings {
  /** Whether calls are made by gRPC-Web, which sends trailers in the body. */
  readonly isWeb: boolean;
  /** The compressions that responses may use. */
  readonly codings: readonly ContentCoding[];
  /** Most bytes of a message of a response. */
  readonly maxBytes: number;
  /** Most bytes of the trailers of a response, without its status. */
  readonly maxMetadataBytes: number;
}

/** The messages of a response, and its trailers once they have been read. */
type Messages = AsyncGenerator<Envelope, void>;

/** The end of a response. */
interface End {
  /** Undefined if the call succeeded. */
  readonly error: ErrorJson | undefined;
  /** Trailers as they were received: foreign servers send characters that this library does not. */
  readonly trailers: Headers;
}

/** Returns the end of a response, once its messages have been read. */
type ReadEnd = (isEmpty: boolean) => End;

const STATUS = "grpc-status";
const GRPC_TYPE = /^application\/grpc(\+proto)?($|;)/;
const WEB_TYPE = /^application\/grpc-web(\+proto)?($|;)/;
/** Names that belong to gRPC, or that have a meaning in the Connect protocol, which the server does not speak. */
const OWN = /^(grpc|connect|quicrpc|trailer)-/;

/**
 * Returns a `fetch` for a client of the Connect protocol that makes its calls by gRPC. Both protocols put the messages
 * of streams into the same envelopes, so only heads and ends are converted, and calls with single messages.
 *
 * @param fetch for gRPC, one that makes requests over HTTP/2, and passes trailers to `onTrailers`
 */
export function grpcFetch(fetch: Fetch, settings: GrpcSettings): Fetch {
  return async (url, { headers, body, ...init }) => {
    const isStream = headers.get("content-type") !== "application/proto";
    const flags = headers.has("content-encoding") ? ENVELOPE_COMPRESSED : 0;
    const isBare = !isStream && body instanceof Uint8Array;
    let trailers: Headers | undefined;
    const onTrailers = (received: Headers): void => void (trailers = received);
    const deadline = Date.now() + Number(headers.get("connect-timeout-ms") ?? Infinity);
    const response = await fetch(url, {
      ...init,
      headers: requestHeaders(headers, settings),
      ...(body !== undefined && { body: isBare ? writeEnvelope({ flags, bytes: body }) : body }),
      onTrailers,
    }).catch((error: unknown) => {
      throw orLate(error, deadline);
    });
    const { headers: head, status } = response;
    const type = settings.isWeb ? WEB_TYPE : GRPC_TYPE;
    if (!type.test(head.get("content-type") ?? "") || (status !== 200 && !head.has(STATUS))) return response;
    const read = settings.isWeb ? webMessages(response, settings, onTrailers) : messagesOf(response, settings);
    const messages = untilDeadline(read, deadline);
    // The end of a response without messages may be in its head.
    const end: ReadEnd = (isEmpty) => endOf(trailers ?? (isEmpty ? head : new Headers()), settings);
    return isStream ? streamOf(head, messages, end, settings) : unaryOf(head, messages, end, settings);
  };
}

function requestHeaders(given: Headers, { isWeb, codings }: GrpcSettings): Headers {
  const headers = new Headers();
  for (const [name, value] of given) {
    if (!/^(connect-|grpc-|content-(type|encoding)$)/.test(name)) headers.append(name, value);
  }
  if (isWeb) {
    headers.set("content-type", "application/grpc-web+proto");
    headers.set("x-grpc-web", "1");
  } else {
    headers.set("content-type", "application/grpc");
    headers.set("te", "trailers");
    // The whole body would be compressed, instead of its messages.
    headers.set("accept-encoding", "identity");
  }
  const timeoutMs = given.get("connect-timeout-ms");
  if (timeoutMs !== null) headers.set("grpc-timeout", timeoutOf(timeoutMs));
  const coding = given.get("connect-content-encoding") ?? given.get("content-encoding");
  if (coding !== null) headers.set("grpc-encoding", coding);
  if (codings.length > 0) headers.set("grpc-accept-encoding", codings.map(({ name }) => name).join(","));
  return headers;
}

/** Returns a time, which has at most 8 digits. */
function timeoutOf(milliseconds: string): string {
  return milliseconds.length > 8 ? `${Math.floor(Number(milliseconds) / 1000)}S` : `${milliseconds}m`;
}

function messagesOf({ body }: Response, { maxBytes }: GrpcSettings, more: number = 0): Messages {
  return readEnvelopes(body?.getReader(), maxBytes, undefined, ENVELOPE_COMPRESSED | more);
}

/** Reads the messages of gRPC-Web, the last of which has the trailers. */
async function* webMessages(
  response: Response,
  settings: GrpcSettings,
  onTrailers: (trailers: Headers) => void,
): Messages {
  let isOver = false;
  for await (const { flags, bytes } of messagesOf(response, settings, FLAG_TRAILERS)) {
    if (isOver) throw new RpcError("internal", "a message follows the trailers");
    isOver = flags >= FLAG_TRAILERS;
    const message = { flags: flags & ENVELOPE_COMPRESSED, bytes };
    if (!isOver) yield message;
    else {
      const trailers = await expanded(message, response.headers.get("grpc-encoding"), settings);
      onTrailers(readTrailers(trailers, settings.maxMetadataBytes));
    }
  }
}

/** Reads the trailers of gRPC-Web. Values that HTTP headers cannot carry are left out. */
function readTrailers(bytes: Uint8Array, maxMetadataBytes: number): Headers {
  if (bytes.length > maxMetadataBytes + MAX_RECEIVED_STATUS) {
    const text = `the trailers have ${bytes.length} bytes, and limits.maxMetadataBytes is ${maxMetadataBytes}`;
    throw new RpcError("resource_exhausted", text);
  }
  const trailers = new Headers();
  for (const line of new TextDecoder().decode(bytes).split("\r\n")) {
    const [, name, value] = /^([!-9;-~]+):(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined || /[^\0-\xff]/.test(value)) continue;
    try {
      trailers.append(name, value);
    } catch (cause) {
      throw new RpcError("internal", `the trailer ${name} is malformed`, { cause });
    }
  }
  return trailers;
}

/** Returns the response to a stream: its messages, and its end as one more. */
function streamOf(head: Headers, messages: Messages, end: ReadEnd, settings: GrpcSettings): Response {
  const headers = responseHeaders(head, "application/connect+proto");
  const coding = head.get("grpc-encoding");
  if (coding !== null) headers.set("connect-content-encoding", coding);
  const pieces = withEnd(messages, end, (message) => codingOf(message, coding, settings));
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

async function* withEnd(
  messages: Messages,
  end: ReadEnd,
  check: (message: Envelope) => void,
): AsyncGenerator<Uint8Array, void> {
  let isEmpty = true;
  let last: End;
  try {
    for await (const message of messages) {
      isEmpty = false;
      check(message);
      yield writeEnvelope(message);
    }
    last = end(isEmpty);
  } catch (error) {
    last = failedEnd(error);
  }
  const { error, trailers } = last;
  const metadata = Object.fromEntries(Array.from(trailers, ([name, value]) => [name, [value]]));
  // `Headers` joins the values of each other name.
  if (trailers.has("set-cookie")) metadata["set-cookie"] = trailers.getSetCookie();
  yield writeEnvelope({ flags: FLAG_END, bytes: jsonBytes({ error, metadata }) });
}

/** Returns the response to a call with single messages. */
async function unaryOf(head: Headers, messages: Messages, end: ReadEnd, settings: GrpcSettings): Promise<Response> {
  let message: Uint8Array | undefined;
  let last: End;
  try {
    for await (const each of messages) {
      if (message !== undefined) throw new RpcError("unimplemented", "the response has more than one message");
      message = await expanded(each, head.get("grpc-encoding"), settings);
    }
    last = end(message === undefined);
    if (last.error === undefined && message === undefined)
      throw new RpcError("unimplemented", "the response has no message");
  } catch (error) {
    last = failedEnd(error);
  }
  const { error, trailers } = last;
  const headers = responseHeaders(head, error === undefined ? "application/proto" : "application/json");
  for (const [name, value] of trailers) headers.append(TRAILER_PREFIX + name, value);
  return error === undefined
    ? new Response(message as Uint8Array<ArrayBuffer>, { headers })
    : new Response(jsonBytes(error) as Uint8Array<ArrayBuffer>, { status: 500, headers });
}

async function expanded(message: Envelope, name: string | null, settings: GrpcSettings): Promise<Uint8Array> {
  const { bytes } = message;
  const coding = codingOf(message, name, settings);
  return coding === undefined || bytes.length === 0 ? bytes : coding.decompress(bytes, settings.maxBytes);
}

/** Returns the compression of a message. Throws `RpcError` `internal` if it was not asked for. */
function codingOf({ flags }: Envelope, name: string | null, { codings }: GrpcSettings): ContentCoding | undefined {
  if (flags === 0) return undefined;
  const coding = codings.find((each) => each.name === name);
  if (coding !== undefined) return coding;
  throw new RpcError("internal", `a message is compressed, and ${JSON.stringify(name)} was not asked for`);
}

/** Returns the head of a response, with its metadata. */
function responseHeaders(head: Headers, contentType: string): Headers {
  const headers = withoutOwn(head);
  headers.set("content-type", contentType);
  return headers;
}

function withoutOwn(fields: Headers): Headers {
  return new Headers([...fields].filter(([name]) => !OWN.test(name)));
}

async function* untilDeadline(messages: Messages, deadline: number): Messages {
  try {
    yield* messages;
  } catch (error) {
    throw orLate(error, deadline);
  }
}

/** Returns the error of a request. A server may end it at its deadline, before this side's timer does. */
function orLate(error: unknown, deadline: number): unknown {
  if (error instanceof RpcError || Date.now() < deadline) return error;
  return new RpcError("deadline_exceeded", "the server ended the request at its deadline", { cause: error });
}

/** Codes of errors in responses that are not faults of the server. */
const KEPT: ReadonlySet<Code> = new Set(["deadline_exceeded", "resource_exhausted", "unimplemented"]);

/** Returns the end of a response that cannot be read. Throws errors of its connection. */
function failedEnd(error: unknown): End {
  if (!(error instanceof RpcError)) throw error;
  const { code, message } = error;
  const text = `the response cannot be read: ${message}`;
  return { error: errorToJson(new RpcError(KEPT.has(code) ? code : "internal", text)), trailers: new Headers() };
}

/** Reads the end of a response. Throws `RpcError` for malformed metadata, and for more than `maxMetadataBytes`. */
function endOf(fields: Headers, { maxMetadataBytes }: GrpcSettings): End {
  const status = fields.get(STATUS);
  const trailers = withoutOwn(fields);
  requireSmall(readHeaders(trailers), maxMetadataBytes);
  if (status === "0") return { error: undefined, trailers };
  const error =
    status === null
      ? new RpcError("unknown", "the response ends without a status")
      : new RpcError(codeFromNumber(Number(status)), decodedMessage(fields.get("grpc-message") ?? ""));
  return { error: errorToJson(error, readDetails(fields.get("grpc-status-details-bin") ?? "")), trailers };
}
