import { type ContentType, CONTENT_TYPE_PREFIX, STREAM_PREFIX } from "./content-type.js";

/**
 * Parses a content type. Returns undefined if it does not belong to the protocol, or names a character set other than
 * UTF-8. Ignores other parameters.
 */
export function readContentType(value: string | null | undefined): ContentType | undefined {
  const [type = "", ...parameters] = (value ?? "").toLowerCase().split(";");
  const name = type.trim();
  if (!name.startsWith(CONTENT_TYPE_PREFIX)) return undefined;
  for (const parameter of parameters) {
    const [key = "", given = ""] = parameter.split("=");
    if (key.trim() === "charset" && !/^"?utf-?8"?$/.test(given.trim())) return undefined;
  }
  const rest = name.slice(CONTENT_TYPE_PREFIX.length);
  const stream = rest.startsWith(STREAM_PREFIX);
  const codec = stream ? rest.slice(STREAM_PREFIX.length) : rest;
  return /^[a-z0-9.-]+$/.test(codec) ? { codec, stream } : undefined;
}
