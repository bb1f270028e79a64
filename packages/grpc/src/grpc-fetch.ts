import { Metadata, RpcError } from "@quicrpc/core";
import { codeFromNumber } from "@quicrpc/core/internal";
import type { ContentCoding, Fetch } from "@quicrpc/http";
import {
  type EndOfStream,
  type Envelope,
  ENVELOPE_COMPRESSED,
  errorToJson,
  FLAG_END,
  jsonBytes,
  readEnvelopes,
  readHeaders,
  TRAILER_PREFIX,
  writeEndOfStream,
  writeEnvelope,
  writeHeaders,
} from "@quicrpc/http/internal";
import { withoutOwn } from "./grpc-call.js";
import { decodedMessage, readDetails } from "./status.js";

/** Limits of responses. */
export interface ResponseLimits {
  /** The compressions that they may use. */
  readonly codings: readonly ContentCoding[];
  /** Most bytes of a message. */
  readonly maxBytes: number;
}

/** A message between the two protocols, of a response. */
type Messages = AsyncGenerator<Envelope, void>;

/** Returns the end of a response, once its messages have been read. */
type End = (isEmpty: boolean) => EndOfStream;

const STATUS = "grpc-status";
const GRPC_TYPE = /^application\/grpc(\+proto)?($|;)/;

/**
 * Returns a `fetch` for a client of the Connect protocol that makes its calls by gRPC. Both protocols put the messages
 * of streams into the same envelopes, so only heads and ends are converted, and calls with single messages.
 *
 * @param fetch makes requests over HTTP/2, and passes trailers to `onTrailers`
 */
export function grpcFetch(fetch: Fetch, limits: ResponseLimits): Fetch {
  return async (url, { headers, body, ...init }) => {
    const isStream = headers.get("content-type") !== "application/proto";
    const flags = headers.has("content-encoding") ? ENVELOPE_COMPRESSED : 0;
    const isBare = !isStream && body instanceof Uint8Array;
    let trailers: Headers | undefined;
    const response = await fetch(url, {
      ...init,
      headers: requestHeaders(headers, limits.codings),
      ...(body !== undefined && { body: isBare ? writeEnvelope({ flags, bytes: body }) : body }),
      onTrailers: (received) => void (trailers = received),
    });
    const { headers: head, status } = response;
    if (!GRPC_TYPE.test(head.get("content-type") ?? "") || (status !== 200 && !head.has(STATUS))) return response;
    const messages = messagesOf(response, limits.maxBytes);
    // The end of a response without messages may be in its head.
    const end: End = (isEmpty) => endOf(trailers ?? (isEmpty ? head : new Headers()));
    return isStream ? streamOf(head, messages, end) : unaryOf(head, messages, end, limits);
  };
}

function requestHeaders(given: Headers, codings: readonly ContentCoding[]): Headers {
  const headers = new Headers();
  for (const [name, value] of given) {
    if (!/^(connect-|grpc-|content-(type|encoding)$)/.test(name)) headers.append(name, value);
  }
  headers.set("content-type", "application/grpc");
  headers.set("te", "trailers");
  // The whole body would be compressed, instead of its messages.
  headers.set("accept-encoding", "identity");
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

/** Reads messages, none of which is the end of a stream in the Connect protocol. */
async function* messagesOf({ body }: Response, maxBytes: number): Messages {
  for await (const message of readEnvelopes(body?.getReader(), maxBytes)) {
    if (message.flags > ENVELOPE_COMPRESSED)
      throw new RpcError("internal", `an envelope has the flags ${message.flags}`);
    yield message;
  }
}

/** Returns the response to a stream: its messages, and its end as one more. */
function streamOf(head: Headers, messages: Messages, end: End): Response {
  const headers = responseHeaders(head, "application/connect+proto");
  const coding = head.get("grpc-encoding");
  if (coding !== null) headers.set("connect-content-encoding", coding);
  const pieces = withEnd(messages, end);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void pieces.return(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

async function* withEnd(messages: Messages, end: End): AsyncGenerator<Uint8Array, void> {
  let isEmpty = true;
  let last: EndOfStream;
  try {
    for await (const message of messages) {
      isEmpty = false;
      yield writeEnvelope(message);
    }
    last = end(isEmpty);
  } catch (error) {
    last = failedEnd(error);
  }
  yield writeEnvelope({ flags: FLAG_END, bytes: writeEndOfStream(last) });
}

/** Returns the response to a call with single messages. */
async function unaryOf(head: Headers, messages: Messages, end: End, limits: ResponseLimits): Promise<Response> {
  let message: Uint8Array | undefined;
  let last: EndOfStream;
  try {
    for await (const each of messages) {
      if (message !== undefined) throw new RpcError("unimplemented", "the response has more than one message");
      message = await expanded(each, head.get("grpc-encoding"), limits);
    }
    last = end(message === undefined);
    if (last.error === undefined && message === undefined)
      throw new RpcError("unimplemented", "the response has no message");
  } catch (error) {
    last = failedEnd(error);
  }
  const { error, trailers } = last;
  const headers = responseHeaders(head, error === undefined ? "application/proto" : "application/json");
  writeHeaders(trailers, headers, TRAILER_PREFIX);
  return error === undefined
    ? new Response(message as Uint8Array<ArrayBuffer>, { headers })
    : new Response(jsonBytes(error) as Uint8Array<ArrayBuffer>, { status: 500, headers });
}

async function expanded(
  { flags, bytes }: Envelope,
  name: string | null,
  { codings, maxBytes }: ResponseLimits,
): Promise<Uint8Array> {
  if (flags === 0) return bytes;
  const coding = codings.find((each) => each.name === name);
  if (coding === undefined)
    throw new RpcError("internal", `a message is compressed, and ${JSON.stringify(name)} was not asked for`);
  return coding.decompress(bytes, maxBytes);
}

/** Returns the head of a response, with its metadata. A head that is the whole response has trailers only. */
function responseHeaders(head: Headers, contentType: string): Headers {
  const headers = new Headers();
  if (!head.has(STATUS)) {
    for (const [name, value] of head) if (!name.startsWith("grpc-")) headers.append(name, value);
  }
  headers.set("content-type", contentType);
  return headers;
}

/** Returns the end of a response that cannot be read. Throws errors of its connection. */
function failedEnd(error: unknown): EndOfStream {
  if (!(error instanceof RpcError)) throw error;
  const { code, message } = error;
  const isKept = code === "resource_exhausted" || code === "unimplemented";
  const text = `the response cannot be read: ${message}`;
  return { error: errorToJson(new RpcError(isKept ? code : "internal", text)), trailers: new Metadata() };
}

/** Reads the end of a response. Throws `RpcError` for malformed metadata. */
function endOf(fields: Headers): EndOfStream {
  const status = fields.get(STATUS);
  const trailers = withoutOwn(readHeaders(fields));
  if (status === "0") return { error: undefined, trailers };
  const error =
    status === null
      ? new RpcError("unknown", "the response ends without a status")
      : new RpcError(codeFromNumber(Number(status)), decodedMessage(fields.get("grpc-message") ?? ""));
  return { error: errorToJson(error, readDetails(fields.get("grpc-status-details-bin") ?? "")), trailers };
}
