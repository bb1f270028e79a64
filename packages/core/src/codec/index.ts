// Building blocks of generated codecs. Not for use by hand: they change with the generator.
export { bare } from "./bare.js";
export { codec, decoder, encoder } from "./codec.js";
export { countOf, entriesOf, readAny, readBy, readTag, requireObject, writeAny, writeBy } from "./compiled.js";
export {
  atLeast,
  atMost,
  type Check,
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
} from "./check.js";
export type { Read, Write } from "./halves.js";
export { array, map, set, tuple } from "./containers.js";
export { record, type RecordKeys } from "./record.js";
export { loose, object, type OtherKeys } from "./object.js";
export {
  any,
  bigint,
  boolean,
  bytes,
  date,
  literal,
  never,
  nil,
  nothing,
  number,
  string,
  template,
} from "./scalars.js";
export type { Shape } from "./shape.js";
export { discriminated, intersection, union } from "./union.js";
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
  withDefault,
} from "./wrappers.js";
export { applyChecks, defaultOf, external, refined, schemaAt } from "./zod-schema.js";
export { misfit } from "../msgpack/misfit.js";
export {
  readArrayHeader,
  readBigInt,
  readBoolean,
  readBytes,
  readDate,
  type Reader,
  readInt,
  readMapHeader,
  readNil,
  readNumber,
  readString,
  restart,
  skip,
} from "../msgpack/reader.js";
export { MAX_DEPTH } from "../limits.js";
export { useTextPlatform } from "../msgpack/text.js";
export {
  writeArrayHeader,
  writeBigInt,
  writeBoolean,
  writeBytes,
  writeDate,
  writeInt,
  writeMapHeader,
  writeNil,
  writeNumber,
  writeString,
} from "../msgpack/write.js";
