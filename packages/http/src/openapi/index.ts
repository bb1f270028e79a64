// Entry point for tools that describe services over HTTP: OpenAPI documents, and messages that plain JSON cannot
// represent.
export { confusedViews } from "../json/confusable.js";
export { jsonProblem, type JsonProblem } from "../json/problems.js";
export type { Describe, Described } from "../json/own-forms.js";
export { type OpenApiDocument, openApiDocument } from "./document.js";
export { plainJsonSchema } from "./json-schema.js";
export { type DescribableRouter, openApiOf } from "./of-routers.js";
export {
  BYTES_SCHEMA,
  type DescribedError,
  type DescribedMethod,
  type DescribedService,
  type JsonSchema,
  type OpenApiOptions,
} from "./source.js";
