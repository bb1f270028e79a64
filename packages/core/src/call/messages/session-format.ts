import { type MessageCodec, type PlainCodec, type SessionCodec, appendBytes } from "../../contract/codec.js";
import { RpcError } from "../../errors.js";
import { unpack, pack } from "../../msgpack/pack.js";
import { FrameWriter } from "../../wire/writer.js";
import { json } from "./json.js";
import { requireModest, requireSendable } from "./nesting.js";
import { BYTES_VALUES, count } from "../../msgpack/reader.js";

/** Codec for standard MessagePack. It is the default codec of sessions. */
export const msgpack: SessionCodec = {
  name: "msgpack",
  encode: (value, out) => appendBytes(out, pack(value)),
  decode: (bytes, start, end) => unpack(bytes, start, end),
};

/** Codec that sends a `Uint8Array` unchanged. Throws `RpcError` `invalid_argument` for any other value. */
export const raw: SessionCodec = {
  name: "raw",
  encode(value, out) {
    if (!(value instanceof Uint8Array)) throw new RpcError("invalid_argument", "the codec raw takes Uint8Array only");
    appendBytes(out, value);
  },
  decode(bytes, start, end) {
    count(BYTES_VALUES);
    return bytes.slice(start, end);
  },
};

type AnyCodec = MessageCodec<unknown>;

/** Converts the codecs of methods to the format of a session that does not use standard MessagePack. */
export class SessionFormat {
  readonly name: string;
  private readonly codec: SessionCodec;
  private readonly made: WeakMap<AnyCodec, AnyCodec> = new WeakMap();

  constructor(codec: SessionCodec) {
    if (!/^[a-z0-9._-]{1,64}$/.test(codec.name)) {
      throw new TypeError(`a codec's name has 1 to 64 of a-z, 0-9, "-", "." and "_"; this one is ${codec.name}`);
    }
    this.name = codec.name;
    this.codec = codec;
  }

  of(codec: AnyCodec | undefined): AnyCodec | undefined {
    if (codec === undefined || codec.bytes === true) return codec;
    let made = this.made.get(codec);
    if (made === undefined) {
      made = translated(codec, this.codec);
      this.made.set(codec, made);
    }
    return made;
  }
}

function translated(codec: AnyCodec, session: SessionCodec): AnyCodec {
  const values = codec.plain ?? byWayOfMsgpack(codec);
  return {
    encode(value, out) {
      const plain = values.encode(value);
      readable(session, "this message cannot be written in", () => {
        requireSendable(plain);
        session.encode(plain, out);
      });
    },
    decode(bytes, start, end) {
      const plain = readable(session, "the payload is not one value of", () => {
        const value = session.decode(bytes, start, end);
        requireModest(value, end - start);
        return value;
      });
      return values.decode(plain);
    },
  };
}

function byWayOfMsgpack(codec: AnyCodec): PlainCodec<unknown> {
  return {
    encode(value) {
      // A separate writer, because the encoder runs user code, which may encode another message.
      const out = new FrameWriter(256);
      codec.encode(value, out);
      return unpack(out.buffer, 0, out.position);
    },
    decode(plain) {
      const packed = pack(plain);
      // A plain Uint8Array, as the wire provides: slices of a Buffer would be Buffers.
      const bytes = new Uint8Array(packed.buffer, packed.byteOffset, packed.length);
      return codec.decode(bytes, 0, bytes.length);
    },
  };
}

function readable<T>({ name }: SessionCodec, problem: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const { message } = RpcError.from(error);
    throw new RpcError("invalid_argument", `${problem} ${name}: ${message}`, { cause: error });
  }
}

export class FormatTable {
  private readonly formats: Map<string, SessionFormat | undefined> = new Map([[msgpack.name, undefined]]);

  /**
   * Throws `TypeError` if a codec has an invalid name.
   *
   * @param codecs codecs in addition to the built-in ones
   */
  constructor(codecs: readonly SessionCodec[]) {
    for (const codec of [json, raw, ...codecs]) {
      if (codec.name !== msgpack.name) this.formats.set(codec.name, new SessionFormat(codec));
    }
  }

  /**
   * Returns the format with this name, which the peer has chosen. For an unknown name, returns a format that throws
   * `RpcError` `unimplemented` for each message.
   */
  find(name: string): SessionFormat | undefined {
    if (this.formats.has(name)) return this.formats.get(name);
    const refuse = (): never => {
      const known = [...this.formats.keys()].join(", ");
      throw new RpcError("unimplemented", `the codec ${JSON.stringify(name)} is not known here: there are ${known}`);
    };
    return new SessionFormat({ name: "unknown", encode: refuse, decode: refuse });
  }
}
