import { isRpcErrorOf, RpcError } from "@quicrpc/core";
import { describe, expect, expectTypeOf, it } from "vitest";
import { describeDistinctCalls } from "./describe-calls.js";
import { olderTyped, typed } from "./typed-service.js";
import { failure } from "./tools.js";

describeDistinctCalls("typed errors", (on) => {
  const { options, alive } = on;
  const divide = (a: number, b = 1) => failure(on.client.unary(typed.divide, { a, b }, options()));
  const digits = (a: number, b = 1) =>
    failure(
      (async () => {
        for await (const _ of on.client.serverStream(typed.digits, { a, b }, options()));
      })(),
    );

  describe.each([
    { name: "unary", fail: divide, method: "divide" },
    { name: "server stream", fail: digits, method: "digits" },
  ])("$name", ({ fail, method }) => {
    it("C44 a declared error arrives with name, code and details, and narrows in TypeScript", async () => {
      const error = await fail(7, 0);
      if (!isRpcErrorOf(typed.divide, error)) throw new Error("not one of the method's");
      expect(error).toBeInstanceOf(RpcError);
      switch (error.reason) {
        case "DIVIDE_BY_ZERO":
          expectTypeOf(error.code).toEqualTypeOf<"failed_precondition">();
          expectTypeOf(error.details).toEqualTypeOf<{ a: number; at?: Date | undefined }>();
          expect(error.details).toEqual({ a: 7, at: new Date(5) });
          expect(error).toMatchObject({ code: "failed_precondition", message: "DIVIDE_BY_ZERO" });
          return;
        case "TOO_LARGE":
          expectTypeOf(error.details.max).toEqualTypeOf<number>();
          break;
        case "CLOSED":
          expectTypeOf(error.details).toEqualTypeOf<undefined>();
          break;
        default:
          expectTypeOf(error).toEqualTypeOf<never>();
      }
      throw new Error(`the wrong one: ${String(error)}`);
    });

    it("C44 details are parsed by the receiver; message and metadata are as given", async () => {
      const error = await fail(1000);
      if (!isRpcErrorOf(typed.divide, error) || error.code !== "out_of_range") throw error;
      expectTypeOf(error.reason).toEqualTypeOf<"TOO_LARGE">();
      expect(error.details.max).toBe(100);
      expect(error.message).toBe("a is too large");
      expect(error.metadata.get("hint")).toBe("use less");
    });

    it("C44 a declared error without details", async () => {
      expect(await fail(2000)).toMatchObject({ reason: "CLOSED", code: "unavailable", details: undefined });
    });

    it("C44 an error that the method does not declare keeps its details, and has no name", async () => {
      const error = await fail(3000);
      expect(error).toMatchObject({ code: "not_found", message: "elsewhere", details: { id: 7 }, reason: undefined });
      expect(error.refused).toBe(false);
      expect(isRpcErrorOf(typed.divide, error)).toBe(false);
      await alive();
    });

    it("C44 details that do not fit are told without the name, and the hook hears of it", async () => {
      expect(await fail(4000)).toMatchObject({ code: "failed_precondition", details: { a: 0.5 }, reason: undefined });
      await on.witness.until(`error test.v1.Typed/${method}`);
      expect(String(on.witness.errors[0]?.error)).toMatch(/details of DIVIDE_BY_ZERO do not fit/);
    });
  });

  it("C44 a caller of another schema keeps unknown names and details that do not fit", async () => {
    const call = (a: number, b: number) => failure(on.client.unary(olderTyped.divide, { a, b }, options()));
    const other = await call(7, 0);
    expect(other).toMatchObject({ code: "failed_precondition", reason: undefined, details: { a: 7 } });
    expect(isRpcErrorOf(olderTyped.divide, other)).toBe(false);
    const unknown = await call(1000, 1);
    expect(unknown).toMatchObject({ code: "out_of_range", reason: "TOO_LARGE", details: {} });
    expect(isRpcErrorOf(olderTyped.divide, unknown)).toBe(false);
  });
});
