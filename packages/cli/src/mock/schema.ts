import type { AnySchema } from "@quicrpc/codegen";
import type { Arbitrary } from "fast-check";

/** A schema with zod's way to check a value. */
export interface ZodLike extends AnySchema {
  safeParse(value: unknown): { readonly success: boolean };
}

/** A source of values, by fast-check. */
export type ValueSource = Arbitrary<unknown>;

/** No data can be generated for a schema. */
export class MockError extends Error {
  override readonly name = "MockError";
}
