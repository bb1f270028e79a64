import type { AnySchema } from "@quicrpc/codegen";
import type { Arbitrary } from "fast-check";

/** A schema with zod's method for checking a value. */
export interface ZodLike extends AnySchema {
  safeParse(value: unknown): { readonly success: boolean };
}

/** A source of generated values (an arbitrary of fast-check). */
export type ValueSource = Arbitrary<unknown>;

/** Error: no data can be generated for a schema. */
export class MockError extends Error {
  override readonly name = "MockError";
}
