import type { Code } from "@quicrpc/core";
import type { MethodKind } from "@quicrpc/core/generated";

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A service, as an OpenAPI document describes it. */
export interface DescribedService {
  readonly name: string;
  readonly docs?: string | undefined;
  readonly methods: readonly DescribedMethod[];
}

/**
 * A method, as an OpenAPI document describes it. Messages are JSON Schemas as in `MethodTooling`; undefined if the
 * method has no such message.
 */
export interface DescribedMethod {
  readonly name: string;
  readonly kind: MethodKind;
  readonly readOnly: boolean;
  /** True if each call has a key, so that the server does not run a repeated call again. */
  readonly once?: boolean;
  readonly docs?: string | undefined;
  /**
   * Metadata that the schema declares. The fields `summary`, `description`, `deprecated` and `tags` become part of the
   * document.
   */
  readonly meta?: object | undefined;
  /** The fields of the method's input and output messages whose values are blobs. */
  readonly blobs?:
    | { readonly input?: readonly OpenApiBlob[] | undefined; readonly output?: readonly OpenApiBlob[] | undefined }
    | undefined;
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly errors: readonly DescribedError[];
}

export interface OpenApiBlob {
  readonly name: string;
  /** Maximum bytes of the blob; undefined if the schema sets no limit. */
  readonly maxBytes?: number | undefined;
}

/** An error that a method declares. */
export interface DescribedError {
  readonly name: string;
  readonly code: Code;
  /** JSON Schema of the error's details; undefined if it has none. */
  readonly details?: JsonSchema | undefined;
}

/** JSON Schema of messages that are `bytes()` in the service's schema. */
export const BYTES_SCHEMA: JsonSchema = { type: "string", "x-quicrpc-type": "bytes" };

/** Parts of a document that do not come from the services. */
export interface OpenApiOptions {
  /** Title, version and description of the document. Default: `Services`, `0.0.0`. */
  readonly info?: { readonly title: string; readonly version: string; readonly description?: string };
  /** Base URLs of the services. Default: the location of the document. */
  readonly servers?: readonly { readonly url: string; readonly description?: string }[];
  /** OpenAPI security schemes by name; a call needs one of them. Default: calls need none. */
  readonly securitySchemes?: Readonly<Record<string, object>>;
}
