// For the packages of this repository only: exempt from semantic versioning, any release may change or remove these names.
export { readBase64, unpadded } from "./protocol/base64.js";
export { FROM_HEADER, writeCursor } from "./protocol/cursor.js";
export { type Envelope, ENVELOPE_COMPRESSED, EnvelopeReader, writeEnvelope } from "./protocol/envelope.js";
export { type ErrorDetail, MAX_DETAILS } from "./protocol/error-json.js";
export { readHeaders, requireSmall } from "./protocol/headers.js";
export type { BodySource } from "./protocol/received-body.js";
export { headersOf, leaveUnread, lostRequest, type ResponseHead } from "./client/http2-fetch.js";
export { failureLater, type HttpClientCall, unreached } from "./client/http-call.js";
export { HttpClient } from "./client/http-client.js";
export { oneEnvelope } from "./client/one-envelope.js";
export { UploadedItems } from "./client/upload.js";
export { transportOf } from "./client/http-transport.js";
export { EnvelopeCall } from "./server/envelope-call.js";
export { type AnswerBody, type HttpExchange, splitTarget } from "./server/exchange.js";
export { CODINGS } from "./server/http-call.js";
export type { MessageFormat } from "./server/message-formats.js";
export type { CallProtocol, ProtocolHost, ProtocolRoutes } from "./server/protocol.js";
export { answerText, type Bound, type Framing, isStream, Match } from "./server/routes.js";
