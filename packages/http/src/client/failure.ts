import { type Code, type Metadata, RpcError } from "@quicrpc/core";
import { readBase64 } from "../protocol/base64.js";
import { readBody } from "../protocol/body.js";
import { codeOfStatus } from "../protocol/codes.js";
import { readContentType } from "../protocol/read-content-type.js";
import { type ConnectDetail, withConnectDetails } from "../protocol/connect-details.js";
import { type ErrorDetail, parseJson, readErrorJson, type ReceivedError } from "../protocol/error-json.js";
import { readHeaders, REFUSED_HEADER, TRAILER_PREFIX } from "../protocol/headers.js";
import { type NamedDetails, readPackedDetail } from "../protocol/packed-detail.js";
import type { HttpClientCall } from "./http-call.js";

const OTHER_SERVER =
  "another program answers at this URL, or a proxy before the server: check the URL, and what the proxy says of the server";

/** Hint for status 415, with which servers of this protocol refuse a content type. */
const OTHER_CONTENT = "the method streams, or the server does not support this codec";

/**
 * Matches the names of Connect codecs. If the response uses another of these codecs than the request, that is a fault
 * of the server.
 */
const CODECS = /^(json|msgpack|proto)$/;

/** Returns the error of an unsuccessful response: the error in its body, or one that describes the response. */
export async function failureOf(call: HttpClientCall, response: Response, stream: boolean): Promise<RpcError> {
  if (response.status !== 200) return failed(call, response);
  const type = readContentType(response.headers.get("content-type"));
  response.body?.cancel().catch(() => {});
  return notOurs(call, response, type?.stream === stream && CODECS.test(type.codec) ? "internal" : "unknown");
}

async function failed(call: HttpClientCall, response: Response): Promise<RpcError> {
  const { status, headers, body } = response;
  const fallback = codeOfStatus(status);
  const type = readContentType(headers.get("content-type"));
  const isJson = type?.codec === "json" && !type.stream;
  const json = isJson ? parseJson(await readBody(body, call.client.limits.maxFrameBytes)) : undefined;
  const received = readErrorJson(json);
  if (!isJson) body?.cancel().catch(() => {});
  if (received === undefined || (received.code === undefined && received.message === undefined)) {
    return notOurs(call, response, fallback);
  }
  const trailers = call.read(() => readHeaders(headers, TRAILER_PREFIX));
  call.heard(
    call.read(() => readHeaders(headers)),
    trailers,
  );
  return httpErrorOf(call, received, fallback, trailers, headers.has(REFUSED_HEADER));
}

const NOTHING: Uint8Array = new Uint8Array(0);

export function httpErrorOf(
  { client, method }: HttpClientCall,
  { code, message = "", details }: ReceivedError,
  fallback: Code,
  metadata: Metadata,
  refused: boolean,
  hint?: string,
): RpcError {
  const { codec } = client;
  const read = (): NamedDetails | undefined =>
    codec.readDetails ? codec.readDetails(details, method) : readPackedDetail(details, method);
  let named: NamedDetails | undefined;
  try {
    named = client.decode({ decode: read, encode: () => {} }, NOTHING) as NamedDetails | undefined;
  } catch (error) {
    hint = `its details are left out: ${RpcError.from(error).message}`;
    details = [];
  }
  const error = new RpcError(code ?? fallback, message, {
    reason: named?.reason,
    details: named?.details,
    metadata,
    refused,
    hint,
  });
  return named === undefined && details.length > 0 ? withConnectDetails(error, details.map(connectDetail)) : error;
}

function connectDetail({ type, value, debug }: ErrorDetail): ConnectDetail {
  return { type, value: readBase64(value) ?? new Uint8Array(0), debug };
}

/** Returns the error for a response that does not come from a server of this protocol, for example from a proxy. */
function notOurs({ client }: HttpClientCall, { status, headers, type }: Response, code: Code): RpcError {
  const location = headers.get("location");
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
    const to = location === null ? "to another URL" : `to ${JSON.stringify(location.slice(0, 200))}`;
    return new RpcError(code, `${client.peer} redirects ${to}`, {
      hint: "connect to that URL: redirects are not followed",
    });
  }
  const what = JSON.stringify((headers.get("content-type") ?? "no content type").slice(0, 100));
  const message = `${client.peer} answered with HTTP status ${status} and ${what}, which is no answer of a service`;
  return new RpcError(code, message, { hint: status === 415 ? OTHER_CONTENT : OTHER_SERVER });
}
