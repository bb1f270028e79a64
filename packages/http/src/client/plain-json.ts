import type { MessageCodec } from "@quicrpc/core/generated";
import { appendBytes } from "@quicrpc/core";
import { jsonCodecOf } from "../json/json-codec.js";
import { readStructDetail } from "../protocol/struct-detail.js";
import { detailsJson } from "../json/details-json.js";
import type { HttpCodec } from "./options.js";

const EMPTY: Uint8Array = new TextEncoder().encode("{}");

/** Codec for a method that has no input or output message. */
const nothing: MessageCodec<unknown> = {
  encode: (_, out) => appendBytes(out, EMPTY),
  decode: () => undefined,
};

/**
 * JSON by the schema, for servers of the Connect protocol that do not support MessagePack, and for requests that people
 * should be able to read. Clients generated without explanations (`--no-explain`) have no schema for it.
 */
export const plainJson: HttpCodec = {
  name: "json",
  of: (codec) => (codec === undefined ? nothing : jsonCodecOf(codec)),
  readDetails: (details, method) => readStructDetail(details, method, detailsJson),
};
