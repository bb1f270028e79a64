import {
  type AnyMethod,
  type BlobFields,
  bytesCodec,
  defineMethod,
  type MessageCodec,
  uncheckedCodec,
} from "@quicrpc/core/generated";
import { RpcError } from "@quicrpc/core";
import { blobCalls } from "@quicrpc/blobs/generated";
import { onceCalls } from "@quicrpc/durable/generated";
import type { MethodDescription, ServiceDescription } from "./generated/reflection.js";

/**
 * Creates a callable method from its description by reflection, without its schema. Values are sent without conversion,
 * and the server validates them. Blobs work as in generated code.
 */
export function describedMethod({ name: service, id }: ServiceDescription, described: MethodDescription): AnyMethod {
  const { kind, name, idempotent, once, meta, blobs, id: its } = described;
  const input = codecOf(described.takes, blobs?.input);
  const output = codecOf(described.gives, blobs?.output);
  const options = {
    id: its,
    idempotent,
    ...(once === true && { extension: onceCalls }),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(meta !== undefined && { meta }),
    ...(blobs !== undefined && kind === "unary" && { blobs: blobCalls(blobs) }),
  };
  return defineMethod({ name: service, id }, kind, name, options);
}

function codecOf(form: MethodDescription["takes"], blobs: BlobFields["input"]): MessageCodec<unknown> | undefined {
  if (form === "nothing") return undefined;
  if (form === "bytes") return bytesCodec;
  return blobs === undefined ? uncheckedCodec() : withReferences(blobs);
}

/**
 * Returns a codec for messages of which only the blob fields are known. It checks that references to blobs are valid.
 */
function withReferences(fields: NonNullable<BlobFields["input"]>): MessageCodec<unknown> {
  const unchecked = uncheckedCodec<unknown>();
  const checked = (message: unknown): unknown => {
    for (const { name } of fields) {
      const reference = (message as Readonly<Record<string, unknown>> | null | undefined)?.[name];
      if (reference !== undefined && !isReference(reference))
        throw new RpcError(
          "invalid_argument",
          `the field ${JSON.stringify(name)} was described as a blob, but is not one`,
        );
    }
    return message;
  };
  return {
    encode: (message, out) => unchecked.encode(message, out),
    decode: (bytes, start, end) => checked(unchecked.decode(bytes, start, end)),
    plain: { encode: (message) => message, decode: checked },
  };
}

function isReference(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [ref, length, type, name, id] = value as readonly unknown[];
  const isCount = (count: unknown): boolean => typeof count === "number" && Number.isSafeInteger(count) && count >= 0;
  return (
    isCount(ref) &&
    (length === null || isCount(length)) &&
    typeof type === "string" &&
    typeof name === "string" &&
    (id === undefined || typeof id === "string")
  );
}
