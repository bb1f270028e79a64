import type { BlobFields } from "@quicrpc/core/generated";
import { blobOptionsOf } from "@quicrpc/core/internal";
import type { GeneratedKind } from "./model.js";
import { ownStructure, reaching, type SchemaNode } from "./schema/node.js";
import { nodeOf } from "./schema/read.js";
import { type AnySchema, canonical, isZodSchema } from "./types/zod.js";

/** Returns true if a schema was made by `blob` of `@quicrpc/blobs`. */
export function isBlob(schema: AnySchema): boolean {
  return blobOptionsOf(canonical(schema)) !== undefined;
}

export function blobsOf(payload: unknown): NonNullable<BlobFields["input"]> {
  if (!isZodSchema(payload)) return [];
  return fieldsIn(payload).flatMap(([name, field]) => {
    const options = blobOptionsOf(canonical(withoutOptional(field).schema));
    if (options === undefined) return [];
    const { maxBytes, digest, resumable } = options;
    return [
      {
        name,
        ...(maxBytes !== undefined && { maxBytes }),
        ...(digest !== undefined && { digest }),
        ...(resumable === true && { resumable }),
      },
    ];
  });
}

/** Describes a mistake in the use of blobs by a method, and its remedy; returns undefined if there is none. */
export function blobProblem(
  kind: GeneratedKind,
  once: unknown,
  payload: unknown,
): { readonly message: string; readonly help: string } | undefined {
  const item = (payload as { readonly item?: unknown } | undefined)?.item;
  const schema = isZodSchema(payload) ? payload : item;
  if (!isZodSchema(schema) || !holdsBlob(nodeOf(schema))) return undefined;
  if (kind !== "unary") {
    return {
      message: "Only the messages of calls with one message each way have blobs.",
      help: "Make its input and output single messages, or stream bytes().",
    };
  }
  if (once === true) {
    return {
      message: "A call that takes effect once has no blobs.",
      help: "Upload the blob by a method of its own, and refer to it in the call.",
    };
  }
  const direct = new Set(blobsOf(schema).map(({ name }) => name));
  const others = fieldsIn(schema).filter(([name]) => !direct.has(name));
  const isObject = ownStructure(nodeOf(schema)).kind === "object";
  if (isObject && !others.some(([, field]) => holdsBlob(field))) return undefined;
  return {
    message: "A blob is a field of the object that is the whole message.",
    help: "Write z.object({ file: blob(), … }), or blob().optional() for one that may be left out.",
  };
}

function fieldsIn(schema: AnySchema): [name: string, field: SchemaNode][] {
  const node = ownStructure(nodeOf(schema));
  return node.kind === "object" ? Object.entries(node.fields) : [];
}

function withoutOptional(node: SchemaNode): SchemaNode {
  const own = ownStructure(node);
  return own.kind === "optional" ? withoutOptional(own.inner) : node;
}

const holdsBlob = reaching(({ schema }) => isZodSchema(schema) && isBlob(schema));
