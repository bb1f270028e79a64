/**
 * Metadata that an application attaches to methods in its schemas, for its interceptors, tools and documentation. It
 * may be any JSON, unless the application declares its type:
 *
 * @example
 * declare module "@quicrpc/core" {
 * interface MethodMeta {
 * readonly auth?: "user" | "admin";
 * readonly cost?: number;
 * }
 * }
 */
export interface MethodMeta {}
