import { RpcError, Metadata } from "@quicrpc/core";
import { type ErrorJson, jsonBytes, parseJson, readErrorJson, type ReceivedError } from "./error-json.js";
import { REFUSED_HEADER, OWN, appendText, requireKey, headerTextOf } from "./headers.js";
import { keyProblem } from "@quicrpc/core/internal";

/** Converts metadata to its JSON form in the last message of a stream: a list of strings for each key. */
export function metadataToJson(metadata: Metadata): Record<string, string[]> {
  const texts = new Map<string, string[]>();
  for (const [key, value] of metadata) {
    const list = texts.get(key) ?? [];
    list.push(headerTextOf(requireKey(key), value));
    texts.set(key, list);
  }
  return Object.fromEntries(texts);
}

/** Converts the JSON form of metadata in the last message of a stream. Skips malformed values and reserved keys. */
export function metadataFromJson(json: unknown): Metadata {
  const metadata = new Metadata();
  if (typeof json !== "object" || json === null) return metadata;
  for (const [name, values] of Object.entries(json)) {
    const key = name.toLowerCase();
    if (OWN.test(key) || keyProblem(key) !== undefined || !Array.isArray(values)) continue;
    for (const value of values as unknown[]) if (typeof value === "string") appendText(metadata, key, value);
  }
  return metadata;
}

export interface EndOfStream {
  /** The error with which the call ends; undefined if it succeeded. */
  readonly error: ErrorJson | undefined;
  readonly trailers: Metadata;
  readonly refused?: boolean;
}

/**
 * Encodes the last message of a response stream, whose envelope has the flag `FLAG_END`. Throws `RpcError` if a value
 * of the trailers cannot be sent.
 */
export function writeEndOfStream({ error, trailers, refused = false }: EndOfStream): Uint8Array {
  const metadata = { ...metadataToJson(trailers), ...(refused && { [REFUSED_HEADER]: ["1"] }) };
  return jsonBytes({ ...(error !== undefined && { error }), ...(Object.keys(metadata).length > 0 && { metadata }) });
}

export interface ReceivedEnd {
  readonly error: ReceivedError | undefined;
  readonly trailers: Metadata;
  readonly refused: boolean;
}

/** Decodes the last message of a response stream. Throws `RpcError` `invalid_argument` if it is malformed. */
export function readEndOfStream(bytes: Uint8Array): ReceivedEnd {
  const json = parseJson(bytes);
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new RpcError("invalid_argument", "the message at the end of the stream is no JSON object");
  }
  const { error: given, metadata } = json as Readonly<Record<string, unknown>>;
  const error = given === undefined || given === null ? undefined : readErrorJson(given);
  if (error === undefined && given !== undefined && given !== null) {
    throw new RpcError("invalid_argument", "the error at the end of the stream is no JSON object");
  }
  const refused = Object.hasOwn(Object(metadata) as object, REFUSED_HEADER);
  return { error, trailers: metadataFromJson(metadata), refused };
}
