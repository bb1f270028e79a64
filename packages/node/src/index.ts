/// <reference types="node" preserve="true" />
export { nodeCompressions } from "./compression.js";
export { connect, type AdvancedConnectOptions, type ConnectOptions } from "./connect.js";
export { connectPool, type ConnectPoolOptions } from "./connect-pool.js";
export {
  type DnsResolver,
  dnsTargets,
  type DnsTargets,
  type DnsTargetsOptions,
  type SrvRecord,
} from "./dns-targets.js";
export { type AdvancedDialOptions, dial, type DialOptions } from "./dial.js";
export type { FallbackOptions } from "./dial/fallback.js";
export { type DevAuthority, devAuthority, existingDevAuthority, type DevAuthorityOptions } from "./dev-authority.js";
export { devCertificate, type DevCertificate, type DevCertificateOptions } from "./dev-certificate.js";
export { drainOnSignal, type DrainOnSignalOptions } from "./drain-on-signal.js";
export type { TlsUpdate } from "./listen/listener.js";
export type { AllowedOrigins, LoadSheddingOptions } from "@quicrpc/core/internal";
export type { Peer, TransportKind } from "./peer.js";
export type { TransportCapabilities, TransportProvider } from "./transport/provider.js";
export { serve } from "./serve.js";
export { shareUdpPorts } from "./share-udp-ports.js";
export type { SharedPortOptions, SharedPorts } from "./workers/shared-ports.js";
export type { Server, ServerDrainOptions, ServerStats, WorkerGroup } from "./server.js";
export type { ServeHttpOptions } from "./listen/http-package.js";
export type { HttpListener } from "./listen/http-requests.js";
export type { AdvancedServeOptions, Authenticate, ServeOptions } from "./serve-options.js";
export { childProcessTransport, nodeStreamTransport, type NodeStreams, stdioTransport } from "./stream/node-stream.js";
export { type CertificateFiles, watchTls, type WatchTlsOptions } from "./watch-tls.js";
export { tuneProcess } from "./tune-process.js";
export type { Refusal } from "./refusals.js";
export { type ActiveHandle, activeHandles } from "./active-handles.js";
export { fileBlob, type FileBlobOptions, saveBlob, type SaveBlobOptions } from "./blob-files.js";
export type { PartOptions } from "./blob-parts.js";
export { fileUploads, type FileUploadOptions } from "./file-uploads.js";
