export { type Change, CHANGE_CLASSES, type ChangeClass, type ChangeKind } from "./breaking/change.js";
export { type CompareOptions, compareSnapshots } from "./breaking/compare.js";
export type { Diagnostic, DiagnosticCode } from "./diagnostics.js";
export type { DocumentInfo } from "./docs/openapi.js";
export { SNAPSHOT_FILE, generate, type GeneratedFile, type GenerateOptions, type GenerateResult } from "./generate.js";
export { declarationOrder, type IdAssigner } from "./lock/ids.js";
export { formatLock, type Lock, type LockedMethod, renameLocked } from "./lock/lock.js";
export { type LoadResult, ModuleLoader } from "./load.js";
export { readLock } from "./lock/read.js";
export type { ImportExtension } from "./print/imports.js";
export type { Target } from "./print/service.js";
export { formatFingerprint } from "./shape/fingerprint.js";
export {
  type Checks,
  type ErrorSnapshot,
  type LiteralValue,
  type MethodSnapshot,
  type SchemaSnapshot,
  type ServiceSnapshot,
  type Shape,
  SHAPE_FORMAT,
  type ShapeTypes,
  SNAPSHOT_VERSION,
} from "./shape/shape.js";
export { parseSnapshot } from "./shape/snapshot.js";
export { type Bounds, boundsOf } from "./schema/bounds.js";
export { checksOf, isFunction, ownStructure, type SchemaNode } from "./schema/node.js";
export { nodeOf } from "./schema/read.js";
export type { AnySchema } from "./types/zod.js";
export { removeStale } from "./prune.js";
export { writeGenerated } from "./write.js";
export type { Config } from "./project/config.js";
export { findSchemaFiles } from "./project/files.js";
export { findProject, lockOf, type Project } from "./project/project.js";
export { affectsOutput } from "./project/affects-output.js";
export { type ProjectOptions, runProject, type SchemaRun } from "./project/run-project.js";
