import type { Code } from "@quicrpc/core";
import type { BlobFields, MethodKind, MethodTooling, Via } from "@quicrpc/core/generated";
import type { ItemCursor, MethodSchema, TopicOfMethod } from "@quicrpc/core/internal";
import type { SourceNode } from "./source/compiler.js";
import type { CodecPlan } from "./codec/plan.js";
import type { Diagnostic } from "./diagnostics.js";
import type { ServiceSnapshot } from "./shape/shape.js";
import type { SchemaRoot } from "./source/schema-root.js";
import type { TypeTable } from "./types/declare.js";
import type { Declaration, TypeNode } from "./types/node.js";
import type { AnySchema } from "./types/zod.js";

export interface MessageModel {
  /** The message's schema; undefined if it is `bytes()`. */
  readonly schema: AnySchema | undefined;
  /**
   * Returns the syntax node of the message's schema or of a schema inside it; undefined if the source does not show it.
   */
  readonly sourceOf: (part: AnySchema) => SourceNode | undefined;
  readonly sent: TypeNode;
  readonly received: TypeNode;
  readonly codec: string;
  /** Returns the first place in the message that plain JSON cannot represent; undefined if there is none. */
  readonly jsonProblem: () => JsonPlace | undefined;
}

/** A place in a message that plain JSON cannot represent. */
export interface JsonPlace {
  /** Location in the method, such as `input.user.avatar`. */
  readonly path: string;
  readonly reason: string;
  /** Syntax node of the schema at this place; undefined if the source does not show it. */
  readonly node: SourceNode | undefined;
}

export type GeneratedKind = MethodKind;

interface ErrorModel {
  readonly name: string;
  readonly code: Code;
  readonly details: MessageModel | undefined;
}

export interface MethodModel {
  readonly name: string;
  readonly id: number;
  /** 32-bit hash that differs between two versions of the method with different wire formats. */
  readonly fingerprint: number;
  readonly kind: GeneratedKind;
  /** The topic to which the method belongs; undefined for other methods. */
  readonly topic: TopicOfMethod | undefined;
  readonly docs: string | undefined;
  readonly idempotent: boolean;
  readonly readOnly: boolean;
  /** True if each call has a key, so that the server does not run a repeated call again. */
  readonly once: boolean;
  readonly priority: number | undefined;
  readonly delivery: string | undefined;
  readonly via: Via | undefined;
  /** Fields of an item that are its cursor; undefined if items have no cursors. */
  readonly cursor: ItemCursor | undefined;
  /** Fields of the method's messages whose values are blobs; undefined if there are none. */
  readonly blobs: BlobFields | undefined;
  /** True if calls continue on another session when theirs ends. */
  readonly resumable: boolean;
  readonly input: MessageModel | undefined;
  readonly output: MessageModel | undefined;
  readonly errors: readonly ErrorModel[];
  /** Metadata that the schema declares for applications, as JSON. */
  readonly meta: MethodSchema["meta"];
  readonly tooling: MethodTooling;
}

export interface ServiceModel {
  /** Name by which peers know the service. */
  readonly name: string;
  readonly id: number;
  readonly exportName: string;
  readonly root: SchemaRoot;
  /** Prefix of the names of the service's generated declarations. */
  readonly prefix: string;
  readonly docs: string | undefined;
  readonly methods: readonly MethodModel[];
  /** The properties of the service that are compared with other versions. */
  readonly snapshot: ServiceSnapshot;
  /** Syntax node of the service's declaration; undefined if the source does not show it. */
  readonly node: SourceNode | undefined;
}

/** Everything that is generated from one schema module. */
export interface FileModel {
  /** Absolute path of the schema module. */
  readonly schemaFile: string;
  readonly services: readonly ServiceModel[];
  readonly declarations: readonly Declaration[];
  readonly types: TypeTable;
  /** Names of types in the shared module that this file uses and re-exports. */
  readonly sharedTypes: readonly string[];
  readonly codecs: CodecPlan;
  /** Possible mistakes in the schemas, which do not prevent generating. */
  readonly warnings: readonly Diagnostic[];
  /** Services that the schema module exports but whose code is generated from another module. */
  readonly reexports: readonly Reexport[];
}

export interface Reexport {
  /** The schema module from which the service is generated. */
  readonly schemaFile: string;
  /** Prefix of the service's names in the other file; `to` is the prefix in this file. */
  readonly from: string;
  readonly to: string;
  readonly topics: boolean;
}
