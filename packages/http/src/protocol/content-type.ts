/** The part of a content type that says how messages are encoded, and whether a body is one message or a stream of envelopes. */
export interface ContentType {
  /** The name of the codec, in lower case: "json" or "msgpack", or what else a peer names. */
  readonly codec: string;
  readonly stream: boolean;
}

/** The beginning of every content type of the protocol. */
export const CONTENT_TYPE_PREFIX = "application/";
/** The part that follows it in content types of streams, before the codec. */
export const STREAM_PREFIX = "connect+";

/** Returns the content type of a body: `application/json`, or of a stream `application/connect+json`. */
export function contentType({ codec, stream }: ContentType): string {
  return `${CONTENT_TYPE_PREFIX}${stream ? STREAM_PREFIX : ""}${codec}`;
}
