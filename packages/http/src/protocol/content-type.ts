/** The part of a content type that states the encoding of messages, and whether a body is one message or a stream of envelopes. */
export interface ContentType {
  /** Name of the codec in lower case: "json", "msgpack", or another name that a peer sends. */
  readonly codec: string;
  readonly stream: boolean;
}

/** First part of every content type of the protocol. */
export const CONTENT_TYPE_PREFIX = "application/";
/** The part that follows in content types of streams, before the codec. */
export const STREAM_PREFIX = "connect+";

/** Returns the content type of a body, such as `application/json`, or `application/connect+json` for a stream. */
export function contentType({ codec, stream }: ContentType): string {
  return `${CONTENT_TYPE_PREFIX}${stream ? STREAM_PREFIX : ""}${codec}`;
}
