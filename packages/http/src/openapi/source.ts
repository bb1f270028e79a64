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

/** A method in a document. Messages are JSON Schemas as in `MethodTooling`; undefined if there is none. */
export interface DescribedMethod {
  readonly name: string;
  readonly kind: MethodKind;
  readonly readOnly: boolean;
  /** Whether calls have keys, so that a repeated call does not run again. */
  readonly once?: boolean;
  readonly docs?: string | undefined;
  /** Metadata that the schema declares: `summary`, `description`, `deprecated` and `tags` become part of the document. */
  readonly meta?: object | undefined;
  /** Blob fields of the method's input and output messages. */
  readonly blobs?:
    | { readonly input?: readonly OpenApiBlob[] | undefined; readonly output?: readonly OpenApiBlob[] | undefined }
    | undefined;
  readonly input: JsonSchema | undefined;
  readonly output: JsonSchema | undefined;
  readonly errors: readonly DescribedError[];
}

/** A field whose value is a blob. */
export interface OpenApiBlob {
  readonly name: string;
  /** Most bytes of the blob, if the schema sets a limit. */
  readonly maxBytes?: number | undefined;
}

/** An error that a method declares. */
export interface DescribedError {
  readonly name: string;
  readonly code: Code;
  /** The JSON Schema of its details. */
  readonly details?: JsonSchema | undefined;
}

/** The schema of the messages if a side is `bytes()`. */
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
