/// <reference types="node" preserve="true" />
export type { BindOptions, GroupMember, RelayedMember, SteeredMember } from "./bind-options.js";
export { returnFreedMemory } from "./bind-options.js";
export { type CertificateRequest, createCertificate } from "./certificate.js";
export { ClientRequest, type HttpResponse } from "./client-request.js";
export { connect, connectHttp3, connectWebTransport } from "./connect.js";
export { Datagrams, type DatagramStats } from "./datagrams.js";
export type { ConnectionIdOptions } from "./connection-ids.js";
export type { ConnectOptions } from "./dial.js";
export {
  Endpoint,
  type ListenOptions,
  type WebTransportListenOptions,
} from "./endpoint.js";
export { type HeaderPairs, HttpRequest } from "./http-request.js";
export { type Http3ConnectOptions, Http3Session, type HttpRequestInit } from "./http3-session.js";
export type { QuicErrorCode, QuicErrorCodes } from "./error-codes.js";
export {
  QuicError,
  type QuicErrorInit,
  type QuicErrorSource,
  type SystemCode,
  WebTransportError,
  type WebTransportErrorOptions,
} from "./errors.js";
export { DEFAULT_TRANSPORT, type ListenTransportOptions, type TransportOptions } from "./limits.js";
export { type InheritedPortOptions, PortGroup, type PortGroupOptions } from "./port-group.js";
export { QuicSession } from "./session.js";
export type { CloseInfo, SessionHandler, SocketAddress } from "./session-handler.js";
export type { EndpointStats, SessionStats, WebTransportStats } from "./stats.js";
export { QuicStream, type StreamHandler } from "./stream.js";
export type {
  CertificateOptions,
  ClientCertificateOptions,
  ClientTlsOptions,
  ServerCertificateOptions,
  ServerTlsOptions,
} from "./tls-options.js";
export { WebTransport, type WebTransportOptions } from "./web-transport.js";
export type { WebTransportConnectOptions } from "./web-transport-dial.js";
export type { HeaderFields, WebTransportResponse, WebTransportRequest } from "./web-transport-request.js";
export { type WebTransportHandshake, WebTransportSession } from "./web-transport-session.js";
