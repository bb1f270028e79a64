export type { MutationMethod, StreamMethod, UnaryMethod } from "./methods.js";
export type { QueryCallOptions, StreamedCallOptions } from "./methods.js";
export {
  createQueries,
  type CreateQueriesOptions,
  type MethodQueries,
  type NoQueries,
  type Queries,
} from "./queries.js";
export type {
  CallInfiniteOptions,
  CallMutationOptions,
  CallQueryOptions,
  Paging,
  SkippableCallQueryOptions,
} from "./tanstack.js";
