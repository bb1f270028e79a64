// The entry for applications. README.md explains what this entry, `generated.ts` and `transports.ts` contain.
export { createCaller, type TypedCaller, type DuplexStream, type Caller } from "./call/base-caller.js";
export type { StreamSource } from "./call/items/send-items.js";
export type { ItemStream } from "./call/items/item-stream.js";
export { json } from "./call/messages/json.js";
export type { CallOptions } from "./call/options.js";
export { msgpack, raw } from "./call/messages/session-format.js";
export { createLocalCaller } from "./connection/local-caller.js";
export { type Connection, createConnection } from "./connection/connection.js";
export type { ConnectionState } from "./connection/state.js";
export { isRpcErrorOf, rpcError } from "./contract/method-errors.js";
// `export *`, because TypeScript merges declarations of applications only with this form.
export type * from "./contract/meta.js";
export {
  bytes,
  type BytesSchema,
  stream,
  type StreamSchema,
  notify,
  type NotifySchema,
  rpc,
  type RpcSchema,
  service,
  type ServiceSchema,
} from "./contract/service.js";
export { appendBytes, type SessionCodec } from "./contract/codec.js";
export { type Code, RpcError } from "./errors.js";
export { authentication, bearerToken, ContextValue } from "./interceptors/authentication.js";
export { authorize } from "./interceptors/authorize.js";
export { concurrencyLimit } from "./interceptors/concurrency-limit.js";
export { defaultTimeout } from "./interceptors/default-timeout.js";
export { interceptCaller } from "./interceptors/intercept-caller.js";
export { interceptRouter } from "./interceptors/intercept-router.js";
export type { InterceptedResponse, InterceptedCall, Interceptor } from "./interceptors/interceptor.js";
export { logging } from "./interceptors/logging.js";
export { observeResponse, withResponseMessages } from "./interceptors/observed.js";
export { retry } from "./interceptors/retry.js";
export { DEFAULT_LIMITS, type Limits } from "./limits.js";
export { Metadata } from "./metadata.js";
export type { CallContext } from "./server/context.js";
export { sanitizeForLog } from "./server/log-error.js";
export type { Router } from "./server/router.js";
export { ServerLoad } from "./server/server-load.js";
export { createClientSession } from "./session/create-client-session.js";
export { createSession } from "./session/create-session.js";
export { createStreamSession } from "./session/create-stream-session.js";
export type { SessionOptions } from "./session/options.js";
export type { ClientSession, Session } from "./session/session.js";
export { TransportError } from "./transport-error.js";
