import { loadEngine } from "./engine-file.js";
import { QuicError, type QuicErrorSource } from "./errors.js";

export type NativeFailure = readonly [
  source: QuicErrorSource,
  code: string,
  message: string,
  closeCode: number | undefined,
  reason: string | undefined,
  status?: number,
  remoteAddress?: NativeAddress,
];

type NativeAddress = readonly [host: string, port: number, family: "IPv4" | "IPv6"];

/**
 * A request for a WebTransport session in the form in which the native engine reports it. Fields are a list of
 * alternating names and values.
 */
type NativeRequest = readonly [
  authority: string,
  path: string,
  protocols: readonly string[],
  fields: readonly string[],
];

/**
 * Functions of the native engine, implemented in native/src/bridge/methods.rs and web_methods.rs. Sessions and streams
 * are identified by handles (see handles.ts).
 */
export interface NativeEndpoint {
  acceptSession(session: number, protocol: string, fields: string): void;
  admitSession(session: number): number;
  greetSession(session: number): void;
  address(): NativeAddress | undefined;
  askSession(
    connection: number,
    authority: string,
    path: string,
    protocols: string,
    fields: string,
  ): number | NativeFailure;
  close(code: number, reason: Uint8Array): void;
  closePolitely(code: number, reason: Uint8Array): number;
  closeSession(session: number, code: number, reason: Uint8Array): void;
  closeSessions(code: number, reason: Uint8Array): void;
  connect(
    ip: string,
    port: number,
    serverName: string,
    tls: Uint8Array,
    transport: Float64Array,
    earlyData: boolean,
  ): number | NativeFailure;
  counts(): readonly [connections: number, streams: number, timers: number] | undefined;
  drain(): void;
  drainSession(session: number): void;
  driver(): "loop" | "thread";
  endWithTrailers(stream: number, fields: string): number;
  endpointStats(): readonly number[] | undefined;
  exportKeyingMaterial(session: number, label: Uint8Array, context: Uint8Array, length: number): Buffer | undefined;
  failure(number: number): NativeFailure | undefined;
  flush(): number;
  listen(tls: Uint8Array, transport: Float64Array): undefined | NativeFailure;
  maxDatagramSize(session: number): number;
  openStream(session: number, unidirectional: boolean): number | NativeFailure;
  peerCertificate(session: number): Buffer | undefined;
  rebind(host: string, port: number): undefined | NativeFailure;
  rejectSession(session: number, status: number, fields: string): void;
  remainingMs(session: number): number;
  requestHead(
    stream: number,
  ): readonly [method: string, authority: string, path: string, fields: readonly string[]] | undefined;
  reset(stream: number, code: number): number;
  respond(stream: number, status: number, fields: string, bytes: Uint8Array, end: boolean): number;
  section(streamIndex: number, trailers: boolean): readonly string[] | undefined;
  sendDatagram(session: number, bytes: Uint8Array): number;
  sendRequest(
    connection: number,
    method: string,
    authority: string,
    path: string,
    fields: string,
    end: boolean,
  ): number | NativeFailure;
  sessionAnswer(session: number): readonly [protocol: string, fields: readonly string[]] | undefined;
  sessionInfo(session: number): readonly [NativeAddress, string | undefined, string, number] | undefined;
  sessionRequest(session: number): NativeRequest | undefined;
  sessionStats(session: number): readonly number[] | undefined;
  setPaused(stream: number, paused: boolean): void;
  pendingBytes(stream: number): number;
  idle(session: number): void;
  ping(session: number): void;
  portUnreachable(session: number): void;
  setPriority(stream: number, priority: number): void;
  setRef(referenced: boolean): void;
  stopSending(stream: number, code: number): number;
  streamId(stream: number): number;
  updateTls(tls: Uint8Array): undefined | NativeFailure;
  write(stream: number, bytes: Uint8Array, end: boolean): number;
}

interface NativeModule {
  bind(
    options: Uint8Array,
    port: number,
    dispatch: (count: number, slab: Uint8Array) => void,
    records: Uint32Array,
  ): NativeEndpoint | NativeFailure;
  bindGroup(host: Uint8Array, port: number, places: number, ids: Uint8Array): string | NativeFailure;
  createCertificate(fields: Uint8Array, notBefore: number, notAfter: number): string | NativeFailure;
  claimPlaces(descriptors: number[], wanted: number): string | NativeFailure;
  unclaimPlace(descriptor: number): void;
  steerGroup(
    descriptors: number[],
    accepting: Uint8Array,
    empty: Uint8Array,
    claimed: Uint8Array,
    turn: number,
    ids: Uint8Array,
  ): number | NativeFailure;
  bindRelay(
    host: Uint8Array,
    port: number,
    offload: boolean,
    places: number,
    token: Uint8Array,
    ids: Uint8Array,
  ): string | NativeFailure;
  steerRelay(relay: number, accepting: Uint8Array, empty: Uint8Array): undefined | NativeFailure;
  closeRelay(relay: number): void;
}

/**
 * Serialises several byte strings into one argument for the native engine. Each is preceded by its length in four bytes
 * (native/src/bridge/fields.rs).
 */
export function packFields(fields: readonly Uint8Array[]): Uint8Array {
  const packed = new Uint8Array(fields.reduce((sum, field) => sum + 4 + field.length, 0));
  const view = new DataView(packed.buffer);
  let at = 0;
  for (const field of fields) {
    view.setUint32(at, field.length, true);
    packed.set(field, at + 4);
    at += 4 + field.length;
  }
  return packed;
}

export function unwrap<T>(answer: T | NativeFailure): T {
  if (Array.isArray(answer)) throw fromFailure(answer as unknown as NativeFailure);
  return answer as T;
}

export function fromFailure([source, code, message, closeCode, reason, status, address]: NativeFailure): QuicError {
  const remoteAddress = address && { host: address[0], port: address[1], family: address[2] };
  return new QuicError({ source, code, message, closeCode, reason, status, remoteAddress });
}

let loaded: NativeModule | undefined;

export function loadNative(): NativeModule {
  loaded ??= loadEngine() as NativeModule;
  return loaded;
}
