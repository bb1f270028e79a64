import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { RpcError, type Router, rpcError } from "@quicrpc/core";
import { z } from "zod";

const service = { name: "test.v1.Typed", id: 4663 };
const Ratio = z.object({ a: z.int(), b: z.int() });
const errors = {
  DIVIDE_BY_ZERO: { code: "failed_precondition", details: zodCodec(z.object({ a: z.int(), at: z.date().optional() })) },
  TOO_LARGE: { code: "out_of_range", details: zodCodec(z.object({ max: z.int().default(100) })) },
  CLOSED: { code: "unavailable" },
} as const;

/** Methods that declare errors; `a` says which is thrown. */
export const typed = {
  divide: defineMethod(service, "unary", "divide", {
    id: 1,
    input: zodCodec(Ratio),
    output: zodCodec(z.int()),
    errors,
  }),
  digits: defineMethod(service, "server_stream", "digits", {
    id: 2,
    input: zodCodec(Ratio),
    output: zodCodec(z.int()),
    errors,
  }),
};

/** The same methods, as a caller sees them whose schema is of another version. */
export const olderTyped = {
  divide: defineMethod(service, "unary", "divide", {
    id: 1,
    input: zodCodec(Ratio),
    output: zodCodec(z.int()),
    errors: {
      DIVIDE_BY_ZERO: { code: "failed_precondition", details: zodCodec(z.object({ by: z.string() })) },
    },
  }),
};

function divide({ a, b }: { a: number; b: number }): number {
  if (b === 0) throw rpcError(typed.divide, "DIVIDE_BY_ZERO", { a, at: new Date(5) });
  if (a === 1000)
    throw rpcError(typed.divide, "TOO_LARGE", {}, { message: "a is too large", metadata: { hint: "use less" } });
  if (a === 2000) throw rpcError(typed.divide, "CLOSED");
  // Forwards another service's error, whose name is not declared here.
  if (a === 3000)
    throw new RpcError("not_found", "elsewhere", { reason: "ELSEWHERE", details: { id: 7 }, refused: true });
  if (a === 4000) throw rpcError(typed.divide, "DIVIDE_BY_ZERO", { a: 0.5 });
  return Math.trunc(a / b);
}

export function typedRouter(): Router {
  return createRouter(typed, {
    divide,
    async *digits(ratio) {
      yield 1;
      yield divide(ratio);
    },
  });
}
