export { connect } from "./connect.js";
export type { ConnectOptions } from "./dial.js";
export { type BindOptions, Endpoint, type ListenOptions } from "./endpoint.js";
export { QuicError, type QuicErrorInit, type QuicErrorSource } from "./errors.js";
export { DEFAULT_TRANSPORT, type ListenTransportOptions, type TransportOptions } from "./limits.js";
export { type CloseInfo, QuicSession, type SessionHandler, type SocketAddress } from "./session.js";
export type { EndpointStats, SessionStats, WebTransportStats } from "./stats.js";
export { QuicStream, type StreamHandler } from "./stream.js";
export type {
  CertificateOptions,
  ClientCertificateOptions,
  ClientTlsOptions,
  ServerCertificateOptions,
  ServerTlsOptions,
} from "./tls-options.js";
