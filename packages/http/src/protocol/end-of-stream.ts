import { type Metadata, RpcError } from "@quicrpc/core";
import { type ErrorJson, jsonBytes, parseJson, readErrorJson, type ReceivedError } from "./error-json.js";
import { REFUSED_HEADER } from "./headers.js";
import { metadataFromJson, metadataToJson } from "./json-metadata.js";

/** The message at the end of a stream of answers, before it is sent. */
export interface EndOfStream {
  /** Undefined where the call succeeded. */
  readonly error: ErrorJson | undefined;
  readonly trailers: Metadata;
  /** No handler was entered. */
  readonly refused?: boolean;
}

/** Returns the message at the end of a stream, which its envelope's flag says it is. Throws as `metadataToJson` does. */
export function writeEndOfStream({ error, trailers, refused = false }: EndOfStream): Uint8Array {
  const metadata = { ...metadataToJson(trailers), ...(refused && { [REFUSED_HEADER]: ["1"] }) };
  return jsonBytes({ ...(error !== undefined && { error }), ...(Object.keys(metadata).length > 0 && { metadata }) });
}

/** The message at the end of a stream, as it was read. */
export interface ReceivedEnd {
  readonly error: ReceivedError | undefined;
  readonly trailers: Metadata;
  readonly refused: boolean;
}

/** Reads the message at the end of a stream. Throws `RpcError` `invalid_argument` for what is none. */
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
