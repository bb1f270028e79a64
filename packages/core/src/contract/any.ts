/** The type of `z.any()`: generated code names it, so that linters find no `any` there. */
// oxlint-disable-next-line typescript/no-explicit-any -- it is what the schema says
export type Any = any;
