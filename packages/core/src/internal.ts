// For the packages of this repository only: exempt from semantic versioning, any release may change or remove these names.
// Functions do not check option names here, so callers can check them together with their own options.
export { createConnection } from "./connection/connection.js";
export { createClientSession, createSoleClientSession } from "./session/create-client-session.js";
export { createSession } from "./session/create-session.js";
export { onAbort, type Timers, watch as watchCall, sleep } from "./call/watch.js";
export { Received, streamsInput, streamsOutput } from "./call/messages/payload.js";
export { measuredOutput } from "./interceptors/call-timings.js";
export { withoutPermissionCheck } from "./interceptors/interceptor.js";
export { BLOB, type BlobCode, type BlobField, type BlobRules } from "./contract/blob-code.js";
export { fromBase64, toBase64 } from "./call/messages/plain-json.js";
export { withOptionCheck, checkOptions, type OptionNames } from "./check-options.js";
export { flatOptions } from "./flat-options.js";
export { refusedOption, SESSION_NEEDS } from "./refused-option.js";
export { type Backoff, backoffDelay, DEFAULT_BACKOFF, scheduleAttempt } from "./call/backoff.js";
export type { ConnectionOptions } from "./connection/connection.js";
export { type FailedAttempt, race } from "./connection/race.js";
export { Fallback, type FallbackMemory, NOTHING_BETTER, type Opened, type Skipped } from "./connection/fallback.js";
export { SessionLink, type SessionLinkOptions } from "./connection/link.js";
export { CONNECTION_OPTIONS, ADVANCED_SESSION_OPTIONS, SESSION_OPTIONS } from "./connection/option-names.js";
export type { BaseCaller, Resumption } from "./call/base-caller.js";
export type { Callee } from "./call/carrier.js";
export type { Compression } from "./contract/compression.js";
export type { MethodMeta } from "./contract/meta.js";
export type { Schema } from "./contract/service.js";
export { requirePositions } from "./call/items/positions.js";
export { declaredError } from "./contract/method-errors.js";
export { callFailureOf, atEnd, followAnswer, type PendingCall } from "./client/pending-call.js";
export type { Calling, CallingHost } from "./client/calling.js";
export type { ClientLimits } from "./client-limits.js";
export { AnsweredCall } from "./client/unary.js";
export { FormatTable } from "./call/messages/session-format.js";
export {
  itemSource,
  type ItemTarget,
  SendFlow,
  sendItems,
  bytePieceOf,
  cut,
  MAX_PIECE,
} from "./call/items/send-items.js";
export { type Attempt, cancelled, throwIfAborted, timeoutOf } from "./call/options.js";
export { fullName, unaryObstacle } from "./contract/descriptor.js";
export { Fifo } from "./fifo.js";
export { guarded } from "./guarded.js";
export { isBinaryKey, keyProblem } from "./metadata.js";
export { copyBytes, watchCopies } from "./msgpack/read-scalars.js";
export { encoding } from "./codec/halves.js";
export { isMisfit } from "./msgpack/misfit.js";
export { mapOf } from "./msgpack/key-crowd.js";
export { BYTES_VALUES } from "./msgpack/reader.js";
export { unpack, pack } from "./msgpack/pack.js";
export { publicUrl } from "./transport-error.js";
export type { ItemIterator, UnsharedBytes } from "./platform-types.js";
export { RetryBudget } from "./interceptors/retry.js";
export type { ItemReceiver } from "./call/items/item-receiver.js";
export type { FedItems, ItemSink } from "./call/items/item-stream.js";
export type { ItemFlow } from "./call/items/send-items.js";
export { type DecodeBudget, decodeWithin } from "./msgpack/decode-within.js";
export { readyToDecode } from "./msgpack/slab.js";
export { expiries, type Expiry, reminders } from "./call/expiries.js";
export { cutText, FrameWriter } from "./wire/writer.js";
export { completeLimits } from "./limits.js";
export { CALLER_LIMITS, type CallerLimits } from "./caller-limits.js";
export { FairQueue, hasShare } from "./fair-queue.js";
export { type ListLink, LinkedSet } from "./linked-set.js";
export { CALL_BYTES, ITEM_BYTES, MemoryBudget } from "./memory-budget.js";
export {
  Admission,
  callBytes,
  type ClientShares,
  guardedShedder,
  type LoadShedder,
  requireRoom,
} from "./server/admission.js";
export { type UnauthenticatedPeer, Authentications } from "./server/authentications.js";
export { type LoadSheddingOptions, OverloadGuard } from "./server/overload-guard.js";
export { IncomingContext, type OnceIdentity, principalOf, type PrincipalOf } from "./server/context.js";
export { type AllowedOrigins, PageGuard } from "./server/page-guard.js";
export {
  type OnceClaim,
  type OnceOptions,
  onceSettings,
  type OnceSettings,
  type OnceState,
  type OnceStore,
} from "./server/once-options.js";
export { packDetails, Reply, type ReplySettings } from "./server/reply.js";
export { ServedCall, type ServedCallSettings } from "./server/served-call.js";
export { type DispatchSettings, type ErrorHook, listed } from "./server/dispatch.js";
export {
  permit,
  type RequestHead,
  serveRequest,
  type ServerRequest,
  runNotification,
} from "./server/serve.js";
export { errorHook } from "./server/log-error.js";
export { asError, callFailure, forwardedFrom, untracedError } from "./errors.js";
export {
  type Awaitable,
  type BoundMethod,
  type MessageBytes,
  type ServedExtension,
  type ReservedMethods,
} from "./server/router.js";
export { Serving, type ServingHost } from "./server/serving.js";
export type { ClientSessionOptions } from "./session/create-client-session.js";
export { type Credentials, withCredentials } from "./session/credentials.js";
export { sessionOn } from "./session/session-on.js";
export type { RenewalOptions, RenewedConnection, RenewedGreeting } from "./session/server-renewal.js";
export {
  type AdvancedSessionOptions,
  type CloseOptions,
  type DrainOptions,
  type SessionDrainOptions,
  totalOf,
  type Unacknowledged,
} from "./session/options.js";
export { rejectionAtCaller } from "./callers-line.js";
export { type ReadyOptions, untilAccepted, whenReady } from "./connection/ready.js";
export { closedError, notReady, SessionCaller } from "./connection/session-caller.js";
export { Watched, withResuming } from "./connection/state.js";
export { type Deferred, deferred } from "./deferred.js";
export { isEndOfSession } from "./transport/close-codes.js";
export { sourceOf } from "./transport/network-source.js";
export { giveBuffer, takeBuffer } from "./wire/buffers.js";
export { ownTurn, TurnPace } from "./turn-pace.js";
export type { ChannelSettings } from "./transport/channel.js";
export * as FrameType from "./wire/frame-type.js";
export * as StreamKind from "./wire/stream-kind.js";
export type { AnyAnswer } from "./call/base-caller.js";
export type {
  AnswerCarrier,
  CallChannel,
  Carrier,
  CarrierSettings,
  IncomingCall,
  RequestHandler,
} from "./call/carrier.js";
export type { Fault } from "./call/fault.js";
export { IncomingCallStream } from "./call/incoming-stream.js";
export { type ReceiveFlow, receiveFlowOf } from "./call/items/item-receiver.js";
export { sendHead } from "./call/messages/payload.js";
export { OutgoingCallStream, type StreamOpener } from "./call/outgoing-stream.js";
export { Call } from "./client/call.js";
export { OutgoingItems } from "./client/client-stream.js";
export { codeFromNumber, codeNumber } from "./codes.js";
export { ProtocolError } from "./errors.js";
export type { Measured } from "./memory-budget.js";
export { MethodTable } from "./server/router.js";
export { Channel } from "./transport/channel.js";
export { type PacedCompression, type PausedStream, SessionCompression } from "./transport/compression.js";
export { FrameReader, type FrameReceiver } from "./wire/reader.js";
export { expanded } from "./transport/expand.js";
export { gatherFrames } from "./transport/gathering.js";
export { Cursor } from "./wire/cursor.js";
export { FLAG_COMPRESSED, FLAG_HEAD } from "./wire/frame.js";
export { readHead } from "./wire/head.js";
export { young } from "./young.js";
export type { AttemptRequest } from "./server/router.js";
export type { Frame } from "./wire/frame.js";
export { blobOptionsOf } from "./contract/blob-code.js";
export type { PlainCodec } from "./contract/descriptor.js";
export {
  isServiceSchema,
  type MethodSchema,
  topicMethodNames,
  topicOfMethod,
  type TopicOfMethod,
  isBytesSchema,
  isStreamSchema,
  type Payload,
} from "./contract/service.js";
export { type CursorOption, type ItemCursor, itemCursor } from "./contract/cursor.js";
export { fnv1a } from "./contract/service-id.js";
export { isCode } from "./codes.js";
export { parseOrThrow, shapeOf } from "./codec/codec.js";
export type { Check } from "./codec/check.js";
export { isPlainObject } from "./codec/record.js";
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
export { isObject, Mode } from "./codec/shape.js";
export { fromMarkedJson, markedJson } from "./call/messages/json.js";
export { jsonOf, readIsoDate } from "./call/messages/plain-json.js";
export { weightOf } from "./codec/nodes.js";
export { countJson } from "./call/messages/json-count.js";
export { MAX_BIGINT_DIGITS } from "./msgpack/big-int.js";
export { setOf } from "./msgpack/key-crowd.js";
export { sentBytes } from "./msgpack/write-value.js";
export { readUtf8, useTextPlatform, writeUtf8 } from "./msgpack/text.js";
export { nearest } from "./nearest.js";
