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
import type { Declaration, TypeNode } from "./types/node.js";

/** One message: the types of what its sender gives and its receiver gets, and its codec. */
export interface MessageModel {
  readonly sent: TypeNode;
  readonly received: TypeNode;
  /** The name of its codec. */
  readonly codec: string;
  /** Finds the place in it that plain JSON would not say all of; undefined where there is none. */
  readonly jsonProblem: () => JsonPlace | undefined;
}

/** A place in a message that plain JSON would not say all of. */
export interface JsonPlace {
  /** As in `input.user.avatar`. */
  readonly path: string;
  readonly reason: string;
  /** Where it is written; undefined when the source does not show it. */
  readonly node: SourceNode | undefined;
}

/** The kinds of method that are generated. */
export type GeneratedKind = MethodKind;

/** One error that a method declares. */
interface ErrorModel {
  readonly name: string;
  readonly code: Code;
  readonly details: MessageModel | undefined;
}

/** One method, ready to print. */
export interface MethodModel {
  readonly name: string;
  readonly id: number;
  /** 32 bits that differ between versions that differ on the wire. */
  readonly fingerprint: number;
  readonly kind: GeneratedKind;
  /** The topic that it publishes or subscribes to. */
  readonly topic: TopicOfMethod | undefined;
  readonly docs: string | undefined;
  readonly idempotent: boolean;
  /** Whether its calls change nothing. */
  readonly readOnly: boolean;
  /** Whether a call that is made again does not run again. */
  readonly once: boolean;
  readonly priority: number | undefined;
  readonly delivery: string | undefined;
  readonly via: Via | undefined;
  /** Where its items have their cursors; undefined where they have none. */
  readonly cursor: ItemCursor | undefined;
  /** The fields of its messages that are blobs. */
  readonly blobs: BlobFields | undefined;
  /** Whether its calls outlive the sessions that carry them. */
  readonly resumable: boolean;
  readonly input: MessageModel | undefined;
  readonly output: MessageModel | undefined;
  readonly errors: readonly ErrorModel[];
  /** The metadata that the schema gives the application about it, as JSON. */
  readonly meta: MethodSchema["meta"];
  readonly tooling: MethodTooling;
}

/** One service, ready to print. */
export interface ServiceModel {
  /** As the peer knows it. */
  readonly name: string;
  readonly id: number;
  /** The export of the schema module that holds it. */
  readonly exportName: string;
  readonly root: SchemaRoot;
  /** The prefix of the names of its declarations. */
  readonly prefix: string;
  readonly docs: string | undefined;
  readonly methods: readonly MethodModel[];
  /** Its parts that are compared with other versions. */
  readonly snapshot: ServiceSnapshot;
  /** Where it is declared; undefined when the source does not show it. */
  readonly node: SourceNode | undefined;
}

/** All that one schema module declares. */
export interface FileModel {
  /** The schema module's absolute path. */
  readonly schemaFile: string;
  readonly services: readonly ServiceModel[];
  readonly declarations: readonly Declaration[];
  /** The types it uses and passes on that stand in the module which it shares with other files. */
  readonly sharedTypes: readonly string[];
  readonly codecs: CodecPlan;
  /** Findings in its schemas that do not stop the run. */
  readonly warnings: readonly Diagnostic[];
  /** Services that the schema module exports and that are generated from another one. */
  readonly reexports: readonly Reexport[];
}

/** A service that one generated file passes on from another. */
export interface Reexport {
  /** The schema module it is generated from. */
  readonly schemaFile: string;
  /** The prefixes of its names there, and here. */
  readonly from: string;
  readonly to: string;
  /** Whether it has topics. */
  readonly topics: boolean;
}
