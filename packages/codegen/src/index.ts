export type { Diagnostic, DiagnosticCode } from "./diagnostics.js";
export { generate, type GeneratedFile, type GenerateOptions, type GenerateResult } from "./generate.js";
export { declarationOrder, type IdAssigner } from "./ids.js";
export type { ImportExtension } from "./print/file.js";
export { writeGenerated } from "./write.js";
