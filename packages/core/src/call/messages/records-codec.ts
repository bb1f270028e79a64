import { fnv1a } from "../../contract/service-id.js";
import { appendBytes, type SessionCodec } from "../../contract/session-codec.js";
import { Packr } from "msgpackr";
import { recordsReader } from "../../msgpack/records.js";

/**
 * MessagePack in which objects are records: their keys are written once in a message, or not at all if both sides have
 * them in `structures`. Maps and Sets keep their types. The format is msgpackr's record extension.
 *
 * @param structures the keys of objects, each list in the order in which the objects have them. The codec's name
 * contains a hash of them, so that two sides with different lists do not misread each other: their calls fail with
 * `unimplemented`
 */
export function msgpackRecords(structures: readonly (readonly string[])[] = []): SessionCodec {
  const packr = new Packr({
    // Not as `structures`: only loaded structures cannot be redefined by a message.
    getStructures: () => structures.map((keys) => [...keys]),
    maxSharedStructures: structures.length,
    mapsAsObjects: false,
    moreTypes: true,
    int64AsType: "auto",
    copyBuffers: true,
  } as object);
  const hash = fnv1a(JSON.stringify(structures)).toString(16);
  return {
    name: structures.length === 0 ? "msgpack-records" : `msgpack-records-${hash}`,
    encode: (value, out) => appendBytes(out, packr.pack(value)),
    // Not by msgpackr, which follows references and compiles functions of keys that a peer chose.
    decode: recordsReader(structures),
  };
}
