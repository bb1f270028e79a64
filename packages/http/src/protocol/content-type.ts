/** The parts of a content type: the codec of messages, and whether the body is one message or a stream of envelopes. */
export interface ContentType {
  /** Name of the codec in lower case, such as "json" or "msgpack". */
  readonly codec: string;
  readonly stream: boolean;
}

export const CONTENT_TYPE_PREFIX = "application/";
/** Second part of content types of streams, before the name of the codec. */
export const STREAM_PREFIX = "connect+";

/** Returns the content type of a body, such as `application/json`, or `application/connect+json` for a stream. */
export function contentType({ codec, stream }: ContentType): string {
  return `${CONTENT_TYPE_PREFIX}${stream ? STREAM_PREFIX : ""}${codec}`;
}
