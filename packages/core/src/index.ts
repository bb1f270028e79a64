// What applications and generated code use.
export { bytes, type BytesSchema, type Payload, type Schema, stream, type StreamSchema } from "./contract/schema.js";
export type { DeclaredError, DeclaredErrors, ErrorSchema, ErrorSchemas } from "./contract/error-schema.js";
export {
  type MethodSchema,
  notify,
  type NotifyOptions,
  type NotifySchema,
  rpc,
  type RpcOptions,
  type RpcSchema,
  service,
  type ServiceSchema,
} from "./contract/service.js";
export type { Caller, DuplexStream } from "./call/caller.js";
export type { Issue } from "./call/codec.js";
export type { StreamSource } from "./call/item-source.js";
export type { ItemStream } from "./call/item-stream.js";
export { json } from "./call/json.js";
export { msgpack, msgpackRecords, raw } from "./call/session-codecs.js";
export type { Compression, CompressionOptions } from "./contract/compression.js";
export { appendBytes, type SessionCodec } from "./contract/session-codec.js";
export type { CallOptions, ParentCall } from "./call/options.js";
export type { Via } from "./contract/descriptor.js";
export { isRpcErrorOf, rpcError, type RpcErrorOf, type TypedErrorOptions } from "./contract/method-errors.js";
export { type Code, isCode, RpcError, type RpcErrorOptions } from "./errors.js";
export { DEFAULT_LIMITS, type Limits } from "./limits.js";
export type { ItemIterator, UnsharedBytes } from "./platform-types.js";
export { Metadata, type MetadataInit, type MetadataValue } from "./metadata.js";
export type { CallContext } from "./server/context.js";
export type { LoadShedder } from "./server/admission.js";
export { ServerLoad } from "./server/server-load.js";
export type { ErrorHook, FailureSite } from "./server/dispatch.js";
export { errorHook } from "./server/error-hook.js";
export { guarded } from "./guarded.js";
export {
  type Awaitable,
  combineRouters,
  createRouter,
  type Handlers,
  type Router,
} from "./server/router.js";
export type { Balance, BalancedTarget, BalanceName } from "./balance/balance.js";
export type { ResolveTargets, TargetSpec } from "./balance/discovery.js";
export type { HealthCheck } from "./balance/health-watch.js";
export type { OutlierOptions } from "./balance/outliers.js";
export { createPool, type Pool, type PoolOptions } from "./balance/pool.js";
export type { PoolTarget } from "./balance/target.js";
export { type Backoff, backoffDelay } from "./connection/backoff.js";
export {
  type Connection,
  type ConnectionOptions,
  createConnection,
  type ImprovingOptions,
} from "./connection/connection.js";
export type { ReadyOptions } from "./connection/ready.js";
export type { ConnectionState } from "./connection/state.js";
export {
  authentication,
  type AuthenticationOptions,
  bearerToken,
  ContextValue,
} from "./interceptors/authentication.js";
export { concurrencyLimit, type ConcurrencyLimitOptions } from "./interceptors/concurrency-limit.js";
export { defaultTimeout } from "./interceptors/default-timeout.js";
export { interceptCaller } from "./interceptors/intercept-caller.js";
export { interceptRouter } from "./interceptors/intercept-router.js";
export type { InterceptedAnswer, InterceptedCall, Interceptor, Next } from "./interceptors/interceptor.js";
export { type CallLog, type Logger, logging } from "./interceptors/logging.js";
export { type AnswerObserver, observed, withOutputs } from "./interceptors/observed.js";
export { retry, type RetryOptions } from "./interceptors/retry.js";
export type {
  ClosedSession,
  CloseOptions,
  DrainOptions,
  SessionEnd,
  SessionOptions,
  Unacknowledged,
} from "./session/options.js";
export { type ClientSessionOptions, createClientSession } from "./session/create-client-session.js";
export { createSession } from "./session/create-session.js";
export { createStreamSession } from "./session/create-stream-session.js";
export type { ClientSession, Session } from "./session/session.js";
export type { KeepAliveOptions } from "./session/keep-alive.js";
export {
  byteStreamSession,
  type ByteStream,
  type ByteStreamHandler,
  type ByteStreamOptions,
  type Role,
} from "./transport/byte-stream.js";
export { refusalCode, SessionCode } from "./transport/close-codes.js";
export { createMemoryPair } from "./transport/memory.js";
export { messagePortSession, type MessagePortLike } from "./transport/message-port.js";
export { webSocketSession, type WebSocketLike, WEBSOCKET_PROTOCOL } from "./transport/web-socket.js";
export { webStreamSession } from "./transport/web-byte-stream.js";
export { WEBTRANSPORT_STREAM_PROTOCOL, webTransportStreamSession } from "./transport/web-transport-stream.js";
export type { CloseInfo, TransportSession } from "./transport/session.js";

// What generated code, tools and other transports use.
export { msgpackCodec, rawCodec, zodCodec, type ZodCodecOptions } from "./call/codec.js";
export {
  type AnyMethod,
  type CallingCode,
  describeMethod,
  type MessageCodec,
  type PlainCodec,
  type MethodDescriptor,
  type MethodKind,
  type MethodOptions,
  type MethodTooling,
  type PayloadWriter,
  type ServiceDescriptor,
  type ServiceIdentity,
  type ServiceTooling,
} from "./contract/descriptor.js";
export {
  clientStreamCalls,
  datagramCalls,
  defineMethod,
  duplexCalls,
  notifyCalls,
  serverStreamCalls,
  unaryCalls,
} from "./client/call-kinds.js";
export type { DeclaresErrors, ErrorDescriptor, MethodErrors, NoErrors } from "./contract/method-errors.js";
export { isBytesSchema, isStreamSchema } from "./contract/schema.js";
export { isServiceSchema, SERVICE_SCHEMA } from "./contract/service.js";
export { printable } from "./server/log-error.js";
export { defaultServiceId, fnv1a } from "./contract/service-id.js";
export type {
  DirectSession,
  DirectSessionHandler,
  DirectStream,
  DirectStreamHandler,
  SoleStream,
  WebTransportSession,
  WebTransportStream,
} from "./transport/session.js";
