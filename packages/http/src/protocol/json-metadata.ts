import { Metadata } from "@quicrpc/core";
import { keyProblem } from "@quicrpc/core/internal";
import { OWN, appendText, requireKey, headerTextOf } from "./headers.js";

/** Converts metadata to the form of the message at the end of a stream: a list of strings for each key. */
export function metadataToJson(metadata: Metadata): Record<string, string[]> {
  const texts = new Map<string, string[]>();
  for (const [key, value] of metadata) {
    const list = texts.get(key) ?? [];
    list.push(headerTextOf(requireKey(key), value));
    texts.set(key, list);
  }
  return Object.fromEntries(texts);
}

/** Reads metadata of the message at the end of a stream. Malformed values and reserved keys are skipped. */
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
