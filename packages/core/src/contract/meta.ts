/**
 * Metadata that an application attaches to methods in its schemas, for its interceptors, tools and documentation. By
 * default it is any JSON; an application can declare its type:
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
