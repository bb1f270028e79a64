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
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/no-empty-interface -- applications add to it
export interface MethodMeta {}
