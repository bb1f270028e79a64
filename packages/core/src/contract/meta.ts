/**
 * Metadata that the schemas of an application attach to methods, for its interceptors, tools and documents: any JSON, unless the
 * application declares its type.
 *
 * @example
 * declare module "@quicrpc/core" {
 *   interface MethodMeta {
 *     readonly auth?: "user" | "admin";
 *     readonly cost?: number;
 *   }
 * }
 */
export interface MethodMeta {}
