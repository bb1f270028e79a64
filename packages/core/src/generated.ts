// The entry for generated code, and for methods written by hand.
export type { Caller, DuplexStream } from "./call/base-caller.js";
export { bytesCodec, uncheckedCodec, zodCodec } from "./call/messages/codec.js";
export type { StreamSource } from "./call/items/send-items.js";
export type { ItemStream } from "./call/items/item-stream.js";
export type { UnsharedBytes } from "./platform-types.js";
export type { BlobFields } from "./contract/blob-code.js";
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
  type ServiceIdentity,
  type ServiceTooling,
  type Via,
  type CallExtension,
} from "./contract/descriptor.js";
export type { DeclaredError } from "./contract/service.js";
export type { ErrorDescriptor, RpcErrorOf } from "./contract/method-errors.js";
export { defaultServiceId } from "./contract/service-id.js";
export type { CallContext } from "./server/context.js";
export { InnerCalls } from "./server/inner-calls.js";
export { type Awaitable, combineRouters, createRouter, type Handlers, type Router } from "./server/router.js";
