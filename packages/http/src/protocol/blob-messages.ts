import { appendBytes, RpcError } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import { countJson, type BlobField, pack, Received, unpack } from "@quicrpc/core/internal";
import type { BlobReference } from "@quicrpc/blobs/internal";
import { encodeMessage } from "./message.js";

/** The ids of the blobs in a message. A blob's reference contains an index into this list. */
export interface BlobNames {
  readonly ids: string[];
  /** Returns the URL of a blob, which is written to messages in JSON. */
  urlOf(field: string, id: string): string;
}

/** Matches the id of a blob resource: 128 random bits in hexadecimal. */
export const BLOB_ID: RegExp = /^[0-9a-f]{32}$/;

/** A blob in a JSON message. In a message to a server, only its URL is used. */
interface JsonBlob {
  readonly url: string;
  readonly length?: number;
  readonly type?: string;
  readonly name?: string;
}

type Fields = Record<string, unknown>;

/**
 * Returns a codec for messages with blobs, each of which is a separate HTTP resource. In JSON, a blob is an object with
 * its URL. In MessagePack, the message is an array: the list of the blobs' ids, and the message itself.
 *
 * @param names receives the blob ids of decoded messages, and provides those of encoded messages
 */
export function blobCodec(
  codec: MessageCodec<unknown>,
  format: string,
  fields: readonly BlobField[],
  names: BlobNames,
): MessageCodec<unknown> {
  const written = (value: unknown): Uint8Array => encodeMessage(codec, value, Infinity);
  if (format === "msgpack") {
    return {
      encode: (value, out) => appendBytes(out, pack([names.ids, written(value)])),
      decode(bytes, start, end) {
        const [ids, message] = unpack(bytes, start, end) as [unknown, unknown];
        const isRead = Array.isArray(ids) && ids.every((id) => typeof id === "string" && BLOB_ID.test(id));
        if (!isRead || !(message instanceof Uint8Array))
          throw new RpcError("invalid_argument", "a message with blobs is an array: their ids, and the message");
        names.ids.push(...(ids as string[]));
        return codec.decode(message, 0, message.length);
      },
    };
  }
  return {
    encode(value, out) {
      const json = JSON.parse(new TextDecoder().decode(written(value))) as Fields;
      appendBytes(out, textBytes(withUrls(json, fields, names)));
    },
    decode(bytes, start, end) {
      countJson(bytes, start, end);
      const message = textBytes(withReferences(parsed(bytes.subarray(start, end)), fields, names));
      return codec.decode(message, 0, message.length);
    },
  };
}

/** Yields the reference of each blob in a message, with its field. Works for measured messages too. */
export function* referencesIn(
  message: unknown,
  fields: readonly BlobField[],
): Generator<readonly [BlobField, BlobReference]> {
  const value = message instanceof Received ? message.value : message;
  for (const field of fields) {
    const reference = (value as Fields | undefined)?.[field.name];
    if (Array.isArray(reference)) yield [field, reference as unknown as BlobReference];
  }
}

function withUrls(message: Fields, fields: readonly BlobField[], names: BlobNames): Fields {
  const json: Fields = { ...message };
  for (const [{ name: field }, [index, length, type, name]] of referencesIn(message, fields)) {
    json[field] = {
      url: names.urlOf(field, names.ids[index] ?? ""),
      ...(length !== null && { length }),
      ...(type !== "" && { type }),
      ...(name !== "" && { name }),
    } satisfies JsonBlob;
  }
  return json;
}

function withReferences(json: unknown, fields: readonly BlobField[], { ids }: BlobNames): unknown {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  const message: Fields = { ...json };
  for (const { name: field, resumable } of fields) {
    const blob = message[field] as Partial<Record<keyof JsonBlob, unknown>> | null | undefined;
    if (blob === undefined) continue;
    const { url, length = null, type = "", name = "" } = typeof blob === "object" && blob !== null ? blob : {};
    const id = typeof url === "string" ? url.slice(url.lastIndexOf("/") + 1) : "";
    if (!BLOB_ID.test(id)) {
      const hint = "POST the bytes to the URL of the field, and name it by { url } of the answer's Location";
      throw new RpcError("invalid_argument", `${field} is a blob: pass an object with its URL`, { hint });
    }
    message[field] = [ids.push(id) - 1, length, type, name, ...(resumable === true ? [""] : [])];
  }
  return message;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new RpcError("invalid_argument", "this is not JSON", { cause });
  }
}

function textBytes(json: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(json));
}
