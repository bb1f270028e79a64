// The entry for generated codecs, which import it as one namespace. Not for use by hand: it changes with the generator.
export { bare } from "./codec/bare.js";
export { codec, decoder, encoder } from "./codec/codec.js";
export {
  countOf,
  entriesOf,
  isOneOf,
  kindAt,
  kindOf,
  otherKeys,
  readAny,
  readBy,
  readTag,
  requireObject,
  tryNext,
  writeAndRead,
  writeAny,
  writeBy,
  writeChecked,
} from "./codec/compiled.js";
export {
  aborting,
  atLeast,
  atMost,
  endsWith,
  exactSize,
  includes,
  integer,
  isMultiple,
  lessThan,
  longerThan,
  maxSize,
  minSize,
  moreThan,
  multipleOf,
  pattern,
  shorterThan,
  startsWith,
} from "./codec/check.js";
export type { Read, Write } from "./codec/halves.js";
export { Keys } from "./codec/keys.js";
export { array, map, set, tuple } from "./codec/containers.js";
export { record } from "./codec/record.js";
export { loose, object } from "./codec/object.js";
export {
  any,
  bigint,
  boolean,
  bytes,
  date,
  literal,
  nan,
  never,
  nil,
  nothing,
  number,
  string,
  template,
} from "./codec/scalars.js";
export { run, type Shape } from "./codec/shape.js";
export { typedArray } from "./codec/typed-array.js";
export { messageOf, told, toldShape } from "./codec/told.js";
export { discriminated, intersection, union } from "./codec/union.js";
export {
  caught,
  exactOptional,
  freeze,
  frozen,
  later,
  lazy,
  nonOptional,
  nullable,
  optional,
  pipe,
  prefault,
  absent,
  withDefault,
} from "./codec/wrappers.js";
export { applyChecks, catchOf, defaultOf, external, preprocessed, refined, schemaAt } from "./codec/zod-schema.js";
export {
  allowance,
  count,
  readArrayHeader,
  type Reader,
  readFieldsHeader,
  readMapHeader,
  readSetHeader,
  readTableHeader,
  readString,
  skip,
  within,
} from "./msgpack/reader.js";
export { placesWith } from "./msgpack/places.js";
export { keyCrowd } from "./msgpack/key-crowd.js";
export { misfit } from "./msgpack/misfit.js";
export { readBigInt, readBoolean, readBytes, readDate, readNil } from "./msgpack/read-scalars.js";
export { readInt, readNumber, writeInt, writeNumber } from "./msgpack/number.js";
export { MAX_DEPTH } from "./fixed-limits.js";
export { writeArrayHeader, writeMapHeader, writeString } from "./msgpack/write.js";
export { writeBigInt, writeBoolean, writeBytes, writeDate, writeNil } from "./msgpack/write-scalars.js";
