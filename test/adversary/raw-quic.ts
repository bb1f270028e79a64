// A QUIC client by hand (RFC 9000, 9001, 8446): it sends any frames, and acknowledges what it wants.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  randomBytes,
} from "node:crypto";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { pause } from "./bytes.js";

const SALT = Buffer.from("38762cf7f55934b34d179ae6a4c80cadccbb7f0a", "hex");
const HOST = "127.0.0.1";
const ID_BYTES = 8;
const TAG_BYTES = 16;
const HASH_BYTES = 32;

/** A varint (RFC 9000 §16). */
export function varint(value: number | bigint): Buffer {
  if (value < 64) return Buffer.of(Number(value));
  if (value < 16_384) return Buffer.of(0x40 | (Number(value) >>> 8), Number(value) & 0xff);
  const bytes = Buffer.alloc(value < 2 ** 30 ? 4 : 8);
  if (bytes.length === 4) bytes.writeUInt32BE(Number(value) + 2 ** 31);
  else bytes.writeBigUInt64BE(BigInt(value) | 0xc000000000000000n);
  return bytes;
}

class Reader {
  at = 0;
  private readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  take(count: number): Buffer {
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  uint(count: number): number {
    return this.take(count).readUIntBE(0, count);
  }

  varint(): number {
    const size = 1 << ((this.bytes[this.at] as number) >>> 6);
    const bytes = Buffer.from(this.take(size));
    bytes[0] = (bytes[0] as number) & 0x3f;
    return bytes.reduce((value, byte) => value * 256 + byte, 0);
  }
}

const hash = (bytes: Buffer): Buffer => createHash("sha256").update(bytes).digest();
const mac = (key: Buffer, bytes: Buffer): Buffer => createHmac("sha256", key).update(bytes).digest();
/** length with so many bytes | bytes */
const sized = (count: number, bytes: Buffer): Buffer => {
  const length = Buffer.alloc(count);
  length.writeUIntBE(bytes.length, 0, count);
  return Buffer.concat([length, bytes]);
};

/** HKDF-Expand-Label (RFC 8446 §7.1), of one block at most. */
function expand(secret: Buffer, label: string, context: Buffer, length: number): Buffer {
  const size = Buffer.alloc(2);
  size.writeUInt16BE(length);
  const info = Buffer.concat([size, sized(1, Buffer.from(`tls13 ${label}`)), sized(1, context), Buffer.of(1)]);
  return mac(secret, info).subarray(0, length);
}

const NOTHING = Buffer.alloc(0);
const derived = (secret: Buffer, next: Buffer): Buffer =>
  mac(expand(secret, "derived", hash(NOTHING), HASH_BYTES), next);

/** Keys of one direction at one level. */
class Keys {
  private readonly key: Buffer;
  private readonly iv: Buffer;
  private readonly headerKey: Buffer;

  constructor(secret: Buffer) {
    this.key = expand(secret, "quic key", NOTHING, 16);
    this.iv = expand(secret, "quic iv", NOTHING, 12);
    this.headerKey = expand(secret, "quic hp", NOTHING, 16);
  }

  seal(header: Buffer, number: number, payload: Buffer): Buffer {
    const cipher = createCipheriv("aes-128-gcm", this.key, this.nonce(number)).setAAD(header);
    const sealed = Buffer.concat([cipher.update(payload), cipher.final(), cipher.getAuthTag()]);
    const packet = Buffer.concat([header, sealed]);
    this.mask(packet, header.length - 4, 4);
    return packet;
  }

  /** Reads a packet whose number begins at a position. */
  open(packet: Buffer, numberAt: number, largest: number): { number: number; payload: Buffer } {
    const bytes = Buffer.from(packet);
    const mask = this.maskOf(bytes, numberAt);
    bytes[0] = (bytes[0] as number) ^ ((mask[0] as number) & ((bytes[0] as number) & 0x80 ? 0x0f : 0x1f));
    const length = (bytes[0] & 3) + 1;
    for (let at = 0; at < length; at++)
      bytes[numberAt + at] = (bytes[numberAt + at] as number) ^ (mask[at + 1] as number);
    const window = 2 ** (8 * length);
    let number = Math.floor((largest + 1) / window) * window + bytes.readUIntBE(numberAt, length);
    if (number <= largest + 1 - window / 2) number += window;
    else if (number > largest + 1 + window / 2 && number >= window) number -= window;
    const start = numberAt + length;
    const decipher = createDecipheriv("aes-128-gcm", this.key, this.nonce(number)).setAAD(bytes.subarray(0, start));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    return { number, payload: Buffer.concat([decipher.update(bytes.subarray(start, -TAG_BYTES)), decipher.final()]) };
  }

  private nonce(number: number): Buffer {
    const nonce = Buffer.from(this.iv);
    const low = Buffer.alloc(8);
    low.writeBigUInt64BE(BigInt(number));
    for (let at = 0; at < 8; at++) nonce[at + 4] = (nonce[at + 4] as number) ^ (low[at] as number);
    return nonce;
  }

  private maskOf(packet: Buffer, numberAt: number): Buffer {
    const cipher = createCipheriv("aes-128-ecb", this.headerKey, null);
    return cipher.update(packet.subarray(numberAt + 4, numberAt + 20));
  }

  private mask(packet: Buffer, numberAt: number, length: number): void {
    const mask = this.maskOf(packet, numberAt);
    packet[0] = (packet[0] as number) ^ ((mask[0] as number) & ((packet[0] as number) & 0x80 ? 0x0f : 0x1f));
    for (let at = 0; at < length; at++)
      packet[numberAt + at] = (packet[numberAt + at] as number) ^ (mask[at + 1] as number);
  }
}

/** Packets of one level: Initial, Handshake or 1-RTT. */
class Level {
  send: Keys | undefined = undefined;
  receive: Keys | undefined = undefined;
  /** Number of the next packet. */
  next = 0;
  /** Numbers received: the largest, and the first of the run that ends there. */
  largest = -1;
  first = 0;
  /** Bytes of the handshake, by their position. */
  private readonly pieces: Map<number, Buffer> = new Map();

  note(number: number): void {
    if (number === this.largest + 1) this.largest = number;
    else if (number > this.largest) [this.largest, this.first] = [number, number];
  }

  crypto(at: number, bytes: Buffer): void {
    this.pieces.set(at, Buffer.from(bytes));
  }

  /** What has arrived of the handshake without a gap. */
  get handshake(): Buffer {
    const parts: Buffer[] = [];
    let end = 0;
    for (let piece = this.pieces.get(0); piece !== undefined && piece.length > 0; piece = this.pieces.get(end)) {
      parts.push(piece);
      end += piece.length;
    }
    return Buffer.concat(parts);
  }
}

/** A frame of ACK for a run of packet numbers. */
export function ack(largest: number, first: number): Buffer {
  return Buffer.concat([Buffer.of(2), varint(largest), varint(0), varint(0), varint(largest - first)]);
}

/** One connection to a server on this machine, whose certificate is not looked at. */
export class RawQuic {
  /** Called with each frame of 1-RTT packets: its type, and a field of it if it has one. */
  onFrame: (type: number, value: number) => void = () => {};
  /** Whether packets are acknowledged as they arrive. */
  acknowledges = true;
  /** Code with which the server has closed the connection. */
  closedWith: number | undefined = undefined;
  /** Bytes of datagrams that were sent from the current address, and received there. */
  sentBytes = 0;
  receivedBytes = 0;
  readonly levels: { readonly initial: Level; readonly handshake: Level; readonly data: Level } = {
    initial: new Level(),
    handshake: new Level(),
    data: new Level(),
  };
  private readonly sockets: Socket[] = [];
  private readonly port: number;
  private readonly id: Buffer = randomBytes(ID_BYTES);
  private peerId: Buffer = randomBytes(ID_BYTES);

  private constructor(port: number) {
    this.port = port;
  }

  static async connect(port: number, alpn: string = "quicrpc/1"): Promise<RawQuic> {
    const connection = new RawQuic(port);
    await connection.move();
    await connection.shake(alpn);
    return connection;
  }

  /** Sends from another port from now on. */
  async move(): Promise<void> {
    const socket = createSocket("udp4");
    socket.on("error", () => {});
    socket.on("message", (datagram) => {
      if (socket === this.sockets.at(-1)) this.receivedBytes += datagram.length;
      this.datagram(datagram);
    });
    socket.bind(0, HOST);
    await once(socket, "listening");
    this.sockets.push(socket);
    this.sentBytes = 0;
    this.receivedBytes = 0;
  }

  /** Sends frames in a 1-RTT packet, padded to a size. */
  send(frames: Uint8Array, size: number = 0): void {
    const payload = Buffer.concat([frames, Buffer.alloc(Math.max(4 - frames.length, size - frames.length, 0))]);
    const level = this.levels.data;
    const number = Buffer.alloc(4);
    number.writeUInt32BE(level.next);
    const header = Buffer.concat([Buffer.of(0x43), this.peerId, number]);
    this.transmit((level.send as Keys).seal(header, level.next++, payload));
  }

  /** Sends bytes as they are. */
  transmit(datagram: Uint8Array): void {
    this.sentBytes += datagram.length;
    this.sockets.at(-1)?.send(datagram, this.port, HOST);
  }

  close(): void {
    for (const socket of this.sockets.splice(0)) socket.close();
  }

  private async shake(alpn: string): Promise<void> {
    const { initial, handshake, data } = this.levels;
    const { publicKey, privateKey } = generateKeyPairSync("x25519");
    const first = mac(SALT, this.peerId);
    initial.send = new Keys(expand(first, "client in", NOTHING, HASH_BYTES));
    initial.receive = new Keys(expand(first, "server in", NOTHING, HASH_BYTES));
    const hello = this.hello(publicKey.export({ type: "spki", format: "der" }).subarray(-32), alpn);
    this.long(0, initial, crypto(hello), 1200);
    const [serverHello] = await this.messages(initial, 1);
    const share = Buffer.concat([X25519_PREFIX, shareOf(serverHello as Buffer)]);
    const shared = diffieHellman({
      privateKey,
      publicKey: createPublicKey({ key: share, type: "spki", format: "der" }),
    });
    const secret = derived(mac(Buffer.alloc(HASH_BYTES), Buffer.alloc(HASH_BYTES)), shared);
    const soFar = hash(Buffer.concat([hello, serverHello as Buffer]));
    const own = expand(secret, "c hs traffic", soFar, HASH_BYTES);
    handshake.send = new Keys(own);
    handshake.receive = new Keys(expand(secret, "s hs traffic", soFar, HASH_BYTES));
    const rest = await this.messages(handshake, FINISHED);
    const all = hash(Buffer.concat([hello, serverHello as Buffer, ...rest]));
    const master = derived(secret, Buffer.alloc(HASH_BYTES));
    data.send = new Keys(expand(master, "c ap traffic", all, HASH_BYTES));
    data.receive = new Keys(expand(master, "s ap traffic", all, HASH_BYTES));
    const proof = mac(expand(own, "finished", NOTHING, HASH_BYTES), all);
    const finished = Buffer.concat([Buffer.of(FINISHED), sized(3, proof)]);
    this.long(2, handshake, Buffer.concat([ack(handshake.largest, handshake.first), crypto(finished)]));
    await this.until(() => this.done);
  }

  private done = false;

  private async until(holds: () => boolean): Promise<void> {
    for (let waited = 0; !holds(); waited++) {
      if (waited === 5000) throw new Error(`the handshake did not end: closed with ${this.closedWith}`);
      await pause(1);
    }
  }

  /** Waits for messages of the handshake up to one of a type: 1 stands for the first, whatever it is. */
  private async messages(level: Level, last: number): Promise<Buffer[]> {
    let found: Buffer[] = [];
    await this.until(() => {
      found = [];
      const reader = new Reader(level.handshake);
      while (reader.left >= 4) {
        const head = reader.take(4);
        const length = head.readUIntBE(1, 3);
        if (reader.left < length) return false;
        found.push(Buffer.concat([head, reader.take(length)]));
        if (last === 1 || head[0] === last) return true;
      }
      return false;
    });
    return found;
  }

  private hello(share: Buffer, alpn: string): Buffer {
    const parameters = [
      [0x01, varint(30_000)],
      [0x04, varint(2 ** 29)],
      ...[5, 6, 7].map((id) => [id, varint(2 ** 29)] as const),
      ...[8, 9].map((id) => [id, varint(100)] as const),
      [0x0e, varint(8)],
      [0x0f, this.id],
    ] as const;
    const packed = Buffer.concat(parameters.flatMap(([id, value]) => [varint(id), varint(value.length), value]));
    const extension = (id: number, bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.of(id >>> 8, id & 0xff), sized(2, bytes)]);
    const extensions = Buffer.concat([
      extension(0, sized(2, Buffer.concat([Buffer.of(0), sized(2, Buffer.from("localhost"))]))),
      extension(10, sized(2, Buffer.of(0, 0x1d))),
      extension(13, sized(2, Buffer.from("0403080408050806040105030601", "hex"))),
      extension(16, sized(2, sized(1, Buffer.from(alpn)))),
      extension(43, sized(1, Buffer.of(3, 4))),
      extension(51, sized(2, Buffer.concat([Buffer.of(0, 0x1d), sized(2, share)]))),
      extension(57, packed),
    ]);
    const body = [Buffer.of(3, 3), randomBytes(32), Buffer.of(0, 0, 2, 0x13, 0x01, 1, 0), sized(2, extensions)];
    return Buffer.concat([Buffer.of(1), sized(3, Buffer.concat(body))]);
  }

  /** Sends a packet with a long header, in a datagram of at least `size` bytes. */
  private long(type: number, level: Level, frames: Buffer, size: number = 0): void {
    const ids = Buffer.concat([sized(1, this.peerId), sized(1, this.id), type === 0 ? Buffer.of(0) : NOTHING]);
    const overhead = 5 + ids.length + 2 + 4 + TAG_BYTES;
    const payload = Buffer.concat([
      frames,
      Buffer.alloc(Math.max(4 - frames.length, size - overhead - frames.length, 0)),
    ]);
    const length = 4 + payload.length + TAG_BYTES;
    const number = Buffer.alloc(4);
    number.writeUInt32BE(level.next);
    const start = Buffer.of(0xc3 | (type << 4), 0, 0, 0, 1);
    const header = Buffer.concat([start, ids, Buffer.of(0x40 | (length >>> 8), length & 0xff), number]);
    this.transmit((level.send as Keys).seal(header, level.next++, payload));
  }

  private datagram(datagram: Buffer): void {
    for (let rest = datagram; rest.length > 0; ) {
      const flags = rest[0] as number;
      if ((flags & 0x80) === 0) {
        this.packet(this.levels.data, rest, 1 + ID_BYTES);
        return;
      }
      const reader = new Reader(rest);
      reader.take(5);
      reader.take(reader.uint(1));
      this.peerId = Buffer.from(reader.take(reader.uint(1)));
      const type = (flags >>> 4) & 3;
      if (type === 0) reader.take(reader.varint());
      const length = reader.varint();
      const level = type === 0 ? this.levels.initial : this.levels.handshake;
      this.packet(level, rest.subarray(0, reader.at + length), reader.at);
      rest = rest.subarray(reader.at + length);
    }
  }

  private packet(level: Level, packet: Buffer, numberAt: number): void {
    if (level.receive === undefined) return;
    let opened;
    try {
      opened = level.receive.open(packet, numberAt, level.largest);
    } catch {
      // A stateless reset, or of keys that are not there.
      return;
    }
    level.note(opened.number);
    const asks = this.frames(level, new Reader(opened.payload));
    if (asks && this.acknowledges && level === this.levels.data) this.send(ack(level.largest, level.first));
    else if (asks && level === this.levels.initial) this.long(0, level, ack(level.largest, level.first), 1200);
  }

  /** Reads frames. Returns whether they ask to be acknowledged. */
  private frames(level: Level, reader: Reader): boolean {
    let asks = false;
    while (reader.left > 0) {
      const type = reader.varint();
      let value = 0;
      if (type === 2 || type === 3) {
        value = reader.varint();
        reader.varint();
        for (let ranges = 2 * reader.varint() + 1; ranges > 0; ranges--) reader.varint();
        if (type === 3) for (let counts = 3; counts > 0; counts--) reader.varint();
      } else if (type === 6) {
        const at = reader.varint();
        level.crypto(at, reader.take(reader.varint()));
      } else if (type === 7) reader.take(reader.varint());
      else if (type >= 8 && type < 16) {
        value = reader.varint();
        if ((type & 4) !== 0) reader.varint();
        reader.take((type & 2) === 0 ? reader.left : reader.varint());
      } else if (type === 0x18) {
        value = reader.varint();
        reader.varint();
        reader.take(reader.uint(1) + 16);
      } else if (type === 0x1a || type === 0x1b) reader.take(8);
      else if (type === 0x1c || type === 0x1d) {
        this.closedWith = reader.varint();
        return false;
      } else if (type === 0x1e) this.done = true;
      else if (type === 0x30 || type === 0x31) reader.take(type === 0x30 ? reader.left : reader.varint());
      else {
        for (let fields = FIELDS[type] ?? 0; fields > 0; fields--) value = reader.varint();
      }
      asks ||= type > 3;
      asks ||= type === 1;
      if (level === this.levels.data) this.onFrame(type, value);
    }
    return asks;
  }
}

/** Numbers of integers in frames that have nothing else. */
const FIELDS: Readonly<Record<number, number>> = {
  4: 3,
  5: 2,
  0x10: 1,
  0x11: 2,
  0x12: 1,
  0x13: 1,
  0x14: 1,
  0x15: 2,
  0x16: 1,
  0x17: 1,
  0x19: 1,
  0xaf: 4,
};
const FINISHED = 20;
const X25519_PREFIX = Buffer.from("302a300506032b656e032100", "hex");

const crypto = (bytes: Buffer): Buffer => Buffer.concat([Buffer.of(6, 0), varint(bytes.length), bytes]);

/** The key share of a ServerHello. */
function shareOf(message: Buffer): Buffer {
  const reader = new Reader(message);
  reader.take(4 + 2 + 32);
  reader.take(reader.uint(1));
  reader.take(3);
  for (let left = reader.uint(2); left > 0; ) {
    const [id, length] = [reader.uint(2), reader.uint(2)];
    const body = reader.take(length);
    if (id === 51) return body.subarray(4);
    left -= 4 + length;
  }
  throw new Error("the ServerHello has no key share");
}
