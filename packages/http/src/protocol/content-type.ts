/** The part of a content type that says how messages are encoded, and whether a body is one message or a stream of envelopes. */
export interface ContentType {
  /** The name of the codec, in lower case: "json" or "msgpack", or what else a peer names. */
  readonly codec: string;
  readonly stream: boolean;
}

const PREFIX = "application/";
const STREAM_PREFIX = "connect+";

/** Returns the content type of a body: `application/json`, or of a stream `application/connect+json`. */
export function contentType({ codec, stream }: ContentType): string {
  return `${PREFIX}${stream ? STREAM_PREFIX : ""}${codec}`;
}

/**
 * Reads a content type; its parameters are passed over, but for a character set that is not UTF-8. Returns undefined for what is no type of
 * the protocol.
 */
export function readContentType(value: string | null | undefined): ContentType | undefined {
  const [type = "", ...parameters] = (value ?? "").toLowerCase().split(";");
  const name = type.trim();
  if (!name.startsWith(PREFIX)) return undefined;
  for (const parameter of parameters) {
    const [key = "", given = ""] = parameter.split("=");
    if (key.trim() === "charset" && !/^"?utf-?8"?$/.test(given.trim())) return undefined;
  }
  const rest = name.slice(PREFIX.length);
  const stream = rest.startsWith(STREAM_PREFIX);
  const codec = stream ? rest.slice(STREAM_PREFIX.length) : rest;
  return /^[a-z0-9.-]+$/.test(codec) ? { codec, stream } : undefined;
}
