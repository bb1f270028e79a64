import type { Code } from "@quicrpc/core";
import type { MethodKind } from "@quicrpc/core/generated";

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A service as a document describes it. */
export interface DescribedService {
  readonly name: string;
  readonly docs?: string | undefined;
  readonly methods: readonly DescribedMethod[];
}

/** A method as a document describes it. Messages are JSON Schemas, as `MethodTooling` has them; undefined where there is none. */
export interface DescribedMethod {
  readonly name: string;
  readonly kind: MethodKind;
  readonly readOnly: boolean;
  /** Whether calls have keys, by which one that is made again does not run again. */
  readonly once?: boolean;
  readonly docs?: string | undefined;
  /** The metadata that its schema gives the application: `summary`, `description`, `deprecated` and `tags` are part of the document. */
  readonly meta?: object | undefined;
  /** The fields of its messages that are blobs. */
  readonly blobs?:
    | { readonly input?: readonly DescribedBlob[] | undefined; readonly output?: readonly DescribedBlob[] | undefined }
    | undefined;
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly errors: readonly DescribedError[];
}

/** A field that is a blob. */
export interface DescribedBlob {
  readonly name: string;
  /** Bytes that are taken, where the schema says. */
  readonly maxBytes?: number | undefined;
}

/** An error that a method declares. */
export interface DescribedError {
  readonly name: string;
  readonly code: Code;
  /** The JSON Schema of its details. */
  readonly details?: JsonSchema | undefined;
}

/** The messages of a side that is `bytes()`. */
export const BYTES_SCHEMA: JsonSchema = { type: "string", "x-quicrpc-type": "bytes" };

/** Texts of a document that are not the services'. */
export interface OpenApiOptions {
  /** Title, version and description in the document's head. Default: `Services`, `0.0.0`. */
  readonly info?: { readonly title: string; readonly version: string; readonly description?: string };
  /** Where the services are. Default: where the document is. */
  readonly servers?: readonly { readonly url: string; readonly description?: string }[];
  /** Security schemes of OpenAPI by name, of which a call needs one. Default: calls need none. */
  readonly securitySchemes?: Readonly<Record<string, object>>;
}
