import type { Json } from "../protocol/struct.js";
import type { DetailsJson } from "../protocol/struct-detail.js";
import { jsonCodecOf } from "./json-codec.js";

/** Converts the details of declared errors to and from JSON, in the same way as messages. */
export const detailsJson: DetailsJson = {
  toJson: (codec, details) => JSON.parse(jsonCodecOf(codec).write(details)) as Json,
  fromJson: (codec, json) => jsonCodecOf(codec).read(JSON.stringify(json)),
};
