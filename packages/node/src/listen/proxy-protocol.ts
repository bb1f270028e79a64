import { BlockList, isIP, SocketAddress, type Socket } from "node:net";
import type { SocketName } from "./socket-server.js";

/**
 * Maximum size of a PROXY protocol header in bytes. The header contains addresses and the balancer's own fields, for
 * example about TLS.
 */
const MAX_HEADER_BYTES = 4096;
/** Maximum length in bytes of a version 1 header: `PROXY TCP6 source destination port port`, and the line break. */
const MAX_TEXT_BYTES = 107;
const SIGNATURE = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const TEXT_SIGNATURE = Buffer.from("PROXY ", "latin1");
const BINARY_HEADER_BYTES = 16;
/**
 * First byte of a version 2 header after the signature: version 2 and the command. LOCAL is a connection of the
 * balancer itself, such as a health check; PROXY is a client's connection.
 */
const LOCAL = 0x20;
const PROXIED = 0x21;
/** Address families and protocols of a version 2 header: TCP over IPv4, and TCP over IPv6. */
const TCP4 = 0x11;
const TCP6 = 0x21;

export type ProxyHeader =
  | { readonly kind: "incomplete" }
  | { readonly kind: "malformed" }
  /** `source` is the client's address, or undefined for the balancer's own connection. */
  | { readonly kind: "header"; readonly length: number; readonly source: SocketName | undefined };

const INCOMPLETE: ProxyHeader = { kind: "incomplete" };
const MALFORMED: ProxyHeader = { kind: "malformed" };

/** Parses a PROXY protocol header, version 1 or 2 (haproxy.org, proxy-protocol.txt). */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (beginsWith(bytes, SIGNATURE)) return bytes.length < BINARY_HEADER_BYTES ? INCOMPLETE : parseBinary(bytes);
  if (beginsWith(bytes, TEXT_SIGNATURE)) return parseText(bytes);
  return MALFORMED;
}

/** Returns true if two byte sequences are equal up to the length of the shorter one. */
function beginsWith(bytes: Buffer, signature: Buffer): boolean {
  const length = Math.min(bytes.length, signature.length);
  return bytes.subarray(0, length).equals(signature.subarray(0, length));
}

/**
 * Parses a version 2 header: signature (12) | version and command (1) | family and protocol (1) | length (2) |
 * addresses | extensions
 */
function parseBinary(bytes: Buffer): ProxyHeader {
  const command = bytes.readUInt8(12);
  const family = bytes.readUInt8(13);
  const length = BINARY_HEADER_BYTES + bytes.readUInt16BE(14);
  if (length > MAX_HEADER_BYTES || (command !== LOCAL && command !== PROXIED)) return MALFORMED;
  if (bytes.length < length) return INCOMPLETE;
  const addresses = bytes.subarray(BINARY_HEADER_BYTES, length);
  if (command === LOCAL) return { kind: "header", length, source: undefined };
  // source (4) | destination (4) | source port (2) | destination port (2)
  if (family === TCP4 && addresses.length >= 12) {
    const host = Array.from(addresses.subarray(0, 4)).join(".");
    return { kind: "header", length, source: { host, port: addresses.readUInt16BE(8) } };
  }
  // source (16) | destination (16) | source port (2) | destination port (2)
  if (family === TCP6 && addresses.length >= 36) {
    const groups = Array.from({ length: 8 }, (_, at) => addresses.readUInt16BE(2 * at).toString(16));
    return { kind: "header", length, source: { host: canonical(groups.join(":")), port: addresses.readUInt16BE(32) } };
  }
  return MALFORMED;
}

/**
 * Parses a version 1 header: `PROXY TCP4|TCP6 source destination source-port destination-port`, or `PROXY UNKNOWN`
 * followed by any text.
 */
function parseText(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, MAX_TEXT_BYTES).indexOf("\r\n");
  if (end < 0) return bytes.length < MAX_TEXT_BYTES ? INCOMPLETE : MALFORMED;
  const [, family, host = "", , sourcePort = ""] = bytes.toString("latin1", 0, end).split(" ");
  const length = end + 2;
  if (family === "UNKNOWN") return { kind: "header", length, source: undefined };
  const version = family === "TCP4" ? 4 : 6;
  const port = /^\d{1,5}$/.test(sourcePort) ? Number(sourcePort) : Infinity;
  if ((family !== "TCP4" && family !== "TCP6") || isIP(host) !== version || port > 65_535) return MALFORMED;
  return { kind: "header", length, source: { host: version === 4 ? host : canonical(host), port } };
}

function canonical(address: string): string {
  return new SocketAddress({ address, family: "ipv6" }).address;
}

/**
 * Addresses and networks (`10.0.0.0/8`) of balancers whose connections begin with a PROXY protocol header. The
 * constructor throws `TypeError` for an invalid entry.
 */
export class TrustedProxies {
  private readonly list: BlockList = new BlockList();

  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      const [address = "", prefix, ...more] = entry.split("/");
      const version = isIP(address);
      const bits = prefix === undefined ? undefined : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Infinity;
      if (version === 0 || more.length > 0 || (bits ?? 0) > (version === 4 ? 32 : 128)) {
        throw new TypeError(
          `trustedProxies: ${JSON.stringify(entry)} is neither an address nor a network such as 10.0.0.0/8`,
        );
      }
      const family = version === 4 ? "ipv4" : "ipv6";
      if (bits === undefined) this.list.addAddress(address, family);
      else this.list.addSubnet(address, bits, family);
    }
  }

  has({ remoteAddress }: Socket): boolean {
    return remoteAddress !== undefined && this.list.check(remoteAddress, isIP(remoteAddress) === 4 ? "ipv4" : "ipv6");
  }
}

/**
 * Reads the PROXY protocol header at the start of a balancer's connection, and leaves the data after it unread. Calls
 * `done` with the header, or with undefined if there is none. Does not call `done` if the connection ends first.
 */
export function readProxyHeader(
  socket: Socket,
  done: (header: { readonly source: SocketName | undefined } | undefined) => void,
): void {
  let arrived: Buffer = Buffer.alloc(0);
  const read = (): void => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      arrived = Buffer.concat([arrived, chunk]);
      const header = parseProxyHeader(arrived);
      if (header.kind === "incomplete") continue;
      socket.off("readable", read);
      if (header.kind === "malformed") {
        done(undefined);
        return;
      }
      const payload = arrived.subarray(header.length);
      if (payload.length > 0) socket.unshift(payload);
      done(header);
      return;
    }
  };
  socket.on("readable", read);
}
