import type { Code } from "@quicrpc/core";
import type {
  BlobFields,
  ItemCursor,
  MethodKind,
  MethodSchema,
  MethodTooling,
  TopicOfMethod,
  Via,
} from "@quicrpc/core/generated";
import type { SourceNode } from "./source/compiler.js";
import type { CodecPlan } from "./codec/plan.js";
import type { Diagnostic } from "./diagnostics.js";
import type { ServiceSnapshot } from "./shape/shape.js";
import type { SchemaRoot } from "./source/schema-root.js";
import type { TypeTable } from "./types/declare.js";
import type { Declaration, TypeNode } from "./types/node.js";
import type { AnySchema } from "./types/zod.js";

/** A message: its schema, its type for the sender, its type for the receiver, and its codec. */
export interface MessageModel {
  /** Undefined for chunks of bytes. */
  readonly schema: AnySchema | undefined;
  /** Returns the source of a part of its schema, or of the message; undefined if the source does not show it. */
  readonly sourceOf: (part: AnySchema) => SourceNode | undefined;
  readonly sent: TypeNode;
  readonly received: TypeNode;
  /** Name of its codec. */
  readonly codec: string;
  /** Returns the first place in it that plain JSON cannot represent; undefined if there is none. */
  readonly jsonProblem: () => JsonPlace | undefined;
}

/** A place in a message that plain JSON cannot represent. */
export interface JsonPlace {
  /** Path such as `input.user.avatar`. */
  readonly path: string;
  readonly reason: string;
  /** Its source; undefined if the source does not show it. */
  readonly node: SourceNode | undefined;
}

/** Kinds of methods that can be generated. */
export type GeneratedKind = MethodKind;

/** A declared error of a method. */
interface ErrorModel {
  readonly name: string;
  readonly code: Code;
  readonly details: MessageModel | undefined;
}

/** A method, ready to be printed. */
export interface MethodModel {
  readonly name: string;
  readonly id: number;
  /** 32-bit hash that differs between versions with different wire formats. */
  readonly fingerprint: number;
  readonly kind: GeneratedKind;
  /** The topic of the method, if it belongs to one. */
  readonly topic: TopicOfMethod | undefined;
  readonly docs: string | undefined;
  readonly idempotent: boolean;
  /** Whether calls leave the server's state unchanged. */
  readonly readOnly: boolean;
  /** Whether a repeated call does not run again. */
  readonly once: boolean;
  readonly priority: number | undefined;
  readonly delivery: string | undefined;
  readonly via: Via | undefined;
  /** The cursor fields of the items; undefined if items have no cursors. */
  readonly cursor: ItemCursor | undefined;
  /** The blob fields of its messages. */
  readonly blobs: BlobFields | undefined;
  /** Whether calls outlive the sessions that carry them. */
  readonly resumable: boolean;
  readonly input: MessageModel | undefined;
  readonly output: MessageModel | undefined;
  readonly errors: readonly ErrorModel[];
  /** Metadata about the method that the schema declares for applications, as JSON. */
  readonly meta: MethodSchema["meta"];
  readonly tooling: MethodTooling;
}

/** A service, ready to be printed. */
export interface ServiceModel {
  /** Name of the service on the wire. */
  readonly name: string;
  readonly id: number;
  /** Name of the schema module's export. */
  readonly exportName: string;
  readonly root: SchemaRoot;
  /** Prefix of the names of its declarations. */
  readonly prefix: string;
  readonly docs: string | undefined;
  readonly methods: readonly MethodModel[];
  /** The parts that are compared with other versions. */
  readonly snapshot: ServiceSnapshot;
  /** Its declaration; undefined if the source does not show it. */
  readonly node: SourceNode | undefined;
}

/** All declarations of one schema module. */
export interface FileModel {
  /** Absolute path of the schema module. */
  readonly schemaFile: string;
  readonly services: readonly ServiceModel[];
  readonly declarations: readonly Declaration[];
  /** The names and comments of its types. */
  readonly types: TypeTable;
  /** Types that it uses and re-exports from the module that it shares with other files. */
  readonly sharedTypes: readonly string[];
  readonly codecs: CodecPlan;
  /** Findings in its schemas that do not stop the run. */
  readonly warnings: readonly Diagnostic[];
  /** Services that the schema module exports but that are generated from another one. */
  readonly reexports: readonly Reexport[];
}

/** A service that a generated file re-exports from another. */
export interface Reexport {
  /** The schema module from which it is generated. */
  readonly schemaFile: string;
  /** Prefixes of its names in the other file, and in this one. */
  readonly from: string;
  readonly to: string;
  /** Whether it has topics. */
  readonly topics: boolean;
}
