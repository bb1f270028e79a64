/**
 * What the schemas of an application say of its methods, for its interceptors, tools and documents: any JSON, unless the application declares
 * what there is to say.
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
