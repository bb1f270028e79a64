import type { Json } from "../protocol/struct.js";
import type { DetailsJson } from "../protocol/struct-detail.js";
import { jsonCodecOf } from "./json-codec.js";

/** Declared details of errors, in the JSON of messages. */
export const detailsJson: DetailsJson = {
  toJson: (codec, details) => JSON.parse(jsonCodecOf(codec).write(details)) as Json,
  fromJson: (codec, json) => jsonCodecOf(codec).read(JSON.stringify(json)),
};
