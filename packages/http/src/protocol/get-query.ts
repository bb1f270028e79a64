import { RpcError } from "@quicrpc/core";
import { readBase64, urlSafe } from "./base64.js";

/** The message of a GET request, as the URL's query contains it. */
export interface GetQuery {
  readonly codec: string;
  readonly message: Uint8Array;
  /** Name of the compression; undefined if the message is not compressed. */
  readonly compression?: string | undefined;
}

/** Codecs whose messages are text, which a query contains without base64. */
const TEXTUAL: ReadonlySet<string> = new Set(["json"]);

/**
 * Returns the query of a GET request's URL, without the "?". The order of parameters is fixed, so that caches find
 * equal requests.
 */
export function writeGetQuery({ codec, message, compression }: GetQuery): string {
  const isText = compression === undefined && TEXTUAL.has(codec);
  const text = isText ? encodeURIComponent(new TextDecoder().decode(message)) : urlSafe(message);
  const parameters = ["connect=v1"];
  if (!isText) parameters.push("base64=1");
  if (compression !== undefined) parameters.push(`compression=${compression}`);
  parameters.push(`encoding=${codec}`, `message=${text}`);
  return parameters.join("&");
}

/** Parses the query of a GET request. Throws `RpcError` `invalid_argument` if it does not follow the protocol. */
export function readGetQuery(query: URLSearchParams): GetQuery {
  const [codec, text, version] = ["encoding", "message", "connect"].map((name) => query.get(name));
  if (typeof codec !== "string") throw new RpcError("invalid_argument", "the query has no parameter encoding");
  if (typeof text !== "string") throw new RpcError("invalid_argument", "the query has no parameter message");
  if (version !== null && version !== "v1") {
    throw new RpcError("invalid_argument", 'the query\'s parameter connect is not "v1"');
  }
  const message = query.get("base64") === "1" ? readBase64(text) : new TextEncoder().encode(text);
  if (message === undefined) throw new RpcError("invalid_argument", "the query's message is not base64");
  const compression = query.get("compression") ?? "identity";
  return { codec, message, compression: compression === "identity" || compression === "" ? undefined : compression };
}
