import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { rpc } from "./service.js";

describe("rpc", () => {
  it("brings declared errors into one form", () => {
    const Details = z.object({ a: z.int() });
    const { errors } = rpc({
      errors: { DIVIDE_BY_ZERO: Details, NOT_FOUND: { code: "not_found", details: Details }, CLOSED: {} },
    });
    expect(errors).toEqual({
      DIVIDE_BY_ZERO: { code: "failed_precondition", details: Details },
      NOT_FOUND: { code: "not_found", details: Details },
      CLOSED: { code: "failed_precondition", details: undefined },
    });
    expectTypeOf(errors.DIVIDE_BY_ZERO.details).toEqualTypeOf<typeof Details>();
    expectTypeOf(errors.NOT_FOUND.code).toEqualTypeOf<"not_found">();
    expectTypeOf(errors.CLOSED.details).toEqualTypeOf<undefined>();
  });

  it("declares none where none are given", () => {
    const { errors } = rpc({ input: z.string() });
    expect(errors).toEqual({});
    expectTypeOf<keyof typeof errors>().toEqualTypeOf<never>();
  });
});
