import { createDecipheriv, createCipheriv } from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

/** A configuration of QUIC-LB, as its balancer has it. */
export interface BalancerConfig {
  readonly config: number;
  readonly serverIdBytes: number;
  readonly nonceBytes: number;
  readonly key: Uint8Array | undefined;
}

const HOST = "127.0.0.1";

/**
 * A balancer of UDP that knows QUIC-LB (draft-ietf-quic-load-balancers-21): a datagram goes to the server that its connection id names, and any
 * other to one at random, by the client's address.
 */
export class QuicBalancer {
  /** Ports of the servers by their ids in hexadecimal. */
  readonly servers: Map<string, number> = new Map();
  /** The servers that new clients are given to. */
  accepting: readonly number[] = [];
  /** Clients of an unknown address that a connection id led to their server. */
  followed = 0;
  private readonly config: BalancerConfig;
  private readonly front: Socket;
  /** One socket for each client's address: the balancer's own side of the way to a server. */
  private readonly ways: Map<string, { readonly socket: Socket; readonly port: number }> = new Map();

  private constructor(config: BalancerConfig, front: Socket) {
    this.config = config;
    this.front = front;
    front.on("message", (datagram, { port }) => this.pass(datagram, port));
  }

  static async start(config: BalancerConfig): Promise<QuicBalancer> {
    const front = createSocket("udp4");
    front.bind(0, HOST);
    await once(front, "listening");
    return new QuicBalancer(config, front);
  }

  get port(): number {
    return this.front.address().port;
  }

  close(): void {
    this.front.close();
    for (const { socket } of this.ways.values()) socket.close();
  }

  /** Whether datagrams of a client at this port have come. */
  knows(client: number): boolean {
    return this.serverOf(client) !== undefined;
  }

  /** The port of the server that a client at this port has been led to first. */
  private serverOf(client: number): number | undefined {
    return [...this.ways.values()].find(({ port }) => this.ways.has(`${client} to ${port}`))?.port;
  }

  private pass(datagram: Buffer, client: number): void {
    const named = this.servers.get(this.serverIdOf(datagram) ?? "");
    const known = this.serverOf(client);
    if (named !== undefined && known === undefined) this.followed++;
    const port = named ?? known ?? this.accepting[Math.floor(Math.random() * this.accepting.length)];
    if (port === undefined) return;
    const key = `${client} to ${port}`;
    let way = this.ways.get(key);
    if (way === undefined) {
      const socket = createSocket("udp4");
      socket.on("message", (answer) => this.front.send(answer, client, HOST));
      way = { socket, port };
      this.ways.set(key, way);
    }
    way.socket.send(datagram, port, HOST);
  }

  /** The server that the destination's connection id names, in hexadecimal. */
  private serverIdOf(datagram: Buffer): string | undefined {
    const isLong = ((datagram[0] ?? 0) & 0x80) !== 0;
    // A long header has the version and the id's length before it (RFC 8999).
    const id = isLong ? datagram.subarray(6, 6 + (datagram[5] ?? 0)) : datagram.subarray(1);
    const { config, serverIdBytes, nonceBytes, key } = this.config;
    const block = id.subarray(1, 1 + serverIdBytes + nonceBytes);
    if ((id[0] ?? 0) >> 5 !== config || block.length < serverIdBytes + nonceBytes) return undefined;
    return (key === undefined ? block : decrypted(block, key)).subarray(0, serverIdBytes).toString("hex");
  }
}

/** Server id and nonce by the draft's §5.5, with an odd number of bytes as half-bytes in integers. */
function decrypted(block: Buffer, key: Uint8Array): Buffer {
  if (block.length === 16) {
    const decipher = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
    return Buffer.concat([decipher.update(block), decipher.final()]);
  }
  const digits = block.length;
  let [left, right] = [block.toString("hex").slice(0, digits), block.toString("hex").slice(digits)];
  const round = (from: string, into: string, pass: number, isLeft: boolean): string => {
    // The expanded half is in the first bytes. For an odd length, one half has four zero bits at its end, the other at
    // its beginning.
    const half = digits % 2 === 0 ? from : isLeft ? `${from}0` : `0${from}`;
    const plain = Buffer.alloc(16);
    plain.write(half, "hex");
    plain[14] = digits;
    plain[15] = pass;
    const mask = createCipheriv("aes-128-ecb", key, null).update(plain).toString("hex");
    const own = digits % 2 === 0 || !isLeft ? mask.slice(0, digits) : mask.slice(1, digits + 1);
    return xor(into, own);
  };
  left = round(right, left, 4, false);
  right = round(left, right, 3, true);
  left = round(right, left, 2, false);
  right = round(left, right, 1, true);
  return Buffer.from(left + right, "hex");
}

function xor(one: string, other: string): string {
  return Array.from(one, (digit, i) =>
    (Number.parseInt(digit, 16) ^ Number.parseInt(other[i] ?? "0", 16)).toString(16),
  ).join("");
}
