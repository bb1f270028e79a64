/** The type of `z.any()`. Generated code uses this name, so that linters find no `any` in it. */
// oxlint-disable-next-line typescript/no-explicit-any -- it is what the schema says
export type Any = any;
