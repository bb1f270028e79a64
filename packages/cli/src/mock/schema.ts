import type { Arbitrary } from "fast-check";

/** The parts of a zod schema that are looked at. */
export interface ZodLike {
  readonly _zod: {
    readonly def: { readonly type: string };
    /** Whether a sender may leave it out of an object. */
    readonly optin?: string | undefined;
  };
  safeParse(value: unknown): { readonly success: boolean };
}

/** A source of values, by fast-check. */
export type ValueSource = Arbitrary<unknown>;

/** A schema of which no data can be made. */
export class MockError extends Error {
  override readonly name = "MockError";
}
