// The entry for generated code, for methods written by hand, and for tools.
export type { Caller, DuplexStream } from "./call/base-caller.js";
export { bytesCodec, uncheckedCodec, zodCodec } from "./call/messages/codec.js";
export type { StreamSource } from "./call/items/send-items.js";
export type { ItemStream } from "./call/items/item-stream.js";
export type { UnsharedBytes } from "./platform-types.js";
export { type BlobFields, blobOptionsOf } from "./contract/blob-code.js";
export type { CallOptions } from "./call/options.js";
export { withCallOptions } from "./client/calling.js";
export { clientStreamCalls, duplexCalls } from "./client/client-stream.js";
export { cursorStreamCalls, foreignCursorStreamCalls } from "./client/cursor-stream.js";
export { defineMethod } from "./client/define-method.js";
export {
  foreignClientStreamCalls,
  foreignDuplexCalls,
  foreignNotifyCalls,
  foreignServerStreamCalls,
  foreignUnaryCalls,
} from "./client/foreign-calls.js";
export { datagramCalls, notifyCalls } from "./client/notify.js";
export { serverStreamCalls } from "./client/server-stream.js";
export { unaryCalls } from "./client/unary.js";
export {
  type Any,
  type AnyMethod,
  describeMethod,
  type MessageCodec,
  type MethodDescriptor,
  type MethodKind,
  type MethodTooling,
  type PayloadWriter,
  type PlainCodec,
  type ServiceIdentity,
  type ServiceTooling,
  type Via,
  type CallExtension,
} from "./contract/descriptor.js";
export {
  type DeclaredError,
  isServiceSchema,
  type MethodSchema,
  topicMethodNames,
  topicOfMethod,
  type TopicOfMethod,
  isBytesSchema,
  isStreamSchema,
  type Payload,
} from "./contract/service.js";
export type { ErrorDescriptor, RpcErrorOf } from "./contract/method-errors.js";
export { type CursorOption, type ItemCursor, itemCursor } from "./contract/cursor.js";
export { defaultServiceId, fnv1a } from "./contract/service-id.js";
export { isCode } from "./codes.js";
export type { CallContext } from "./server/context.js";
export { type Awaitable, createRouter, type Handlers, type Router } from "./server/router.js";

// Building blocks of generated codecs. Not for use by hand: they change with the generator.
export { bare } from "./codec/bare.js";
export { codec, decoder, encoder, parseOrThrow, shapeOf } from "./codec/codec.js";
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
} from "./codec/check.js";
export type { Read, Write } from "./codec/halves.js";
export { Keys } from "./codec/keys.js";
export { array, map, set, tuple } from "./codec/containers.js";
export { isPlainObject, record } from "./codec/record.js";
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
export {
  CONTAINERS,
  type Form,
  LISTS,
  partAt,
  partsOf,
  type Place,
  placesOf,
  type PlainJson,
  type Structure,
} from "./codec/form.js";
export { backtrackingOf, longestText } from "./codec/backtracking.js";
export { Mode, run, type Shape } from "./codec/shape.js";
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
export { fromMarkedJson, markedJson } from "./call/messages/json.js";
export { jsonOf, readIsoDate } from "./call/messages/plain-json.js";
export { allowance, count } from "./msgpack/reader.js";
export { weightOf } from "./codec/nodes.js";
export { countJson } from "./call/messages/json-count.js";
export { MAX_BIGINT_DIGITS } from "./msgpack/big-int.js";
export { placesWith } from "./msgpack/places.js";
export { keyCrowd, setOf } from "./msgpack/key-crowd.js";
export { misfit } from "./msgpack/misfit.js";
export { sentBytes } from "./msgpack/write-value.js";
export {
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
export { readBigInt, readBoolean, readBytes, readDate, readNil } from "./msgpack/read-scalars.js";
export { readInt, readNumber, writeInt, writeNumber } from "./msgpack/number.js";
export { MAX_DEPTH } from "./fixed-limits.js";
export { readUtf8, useTextPlatform, writeUtf8 } from "./msgpack/text.js";
export {
  writeArrayHeader,
  writeMapHeader,
  writeString,
} from "./msgpack/write.js";
export { writeBigInt, writeBoolean, writeBytes, writeDate, writeNil } from "./msgpack/write-scalars.js";
export { nearest } from "./nearest.js";
