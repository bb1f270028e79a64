// Entry point for generated code. Do not import it by hand: it changes with the generator.
export type { ProtobufService } from "./service.js";
export { requireFields, writeOption } from "./choice.js";
export { toMap, toRecord, toSet, toTuple } from "./containers.js";
export { Enumeration } from "./enumeration.js";
export { readAny, readTimestamp, writeAny, writeTimestamp } from "./known.js";
export {
  countFields,
  push,
  readBool,
  readBytes,
  readDouble,
  readFloat,
  readInt,
  readInt32,
  readInt64,
  readMessage,
  readNull,
  readPacked,
  readParts,
  readString,
  readTag,
  readUint32,
  readUint64,
  readWhole,
  skipField,
  takePart,
} from "./reader.js";
export {
  arrayOf,
  isEmpty,
  mapEntries,
  recordEntries,
  requireObject,
  requireOne,
  setValues,
  writeBool,
  writeBytes,
  writeDouble,
  writeFloat,
  writeInt,
  writeInt32,
  writeInt64,
  writeMessage,
  writeNull,
  writePacked,
  writeString,
  writeUint32,
  writeUint64,
} from "./writer.js";
export { misfit } from "@quicrpc/core/codec";
