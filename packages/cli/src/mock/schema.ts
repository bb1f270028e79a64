import type { AnySchema } from "@quicrpc/codegen";
import type { Arbitrary } from "fast-check";

export interface ZodLike extends AnySchema {
  safeParse(value: unknown): { readonly success: boolean };
}

export type ValueSource = Arbitrary<unknown>;

/** Error: no data can be generated for a schema. */
export class MockError extends Error {
  override readonly name = "MockError";
}
