// Calls of a batch fail with the errors that they have without one.
import { createSession, isRpcErrorOf, type RpcError, rpcError } from "@quicrpc/core";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createBatch, createBatches } from "@quicrpc/batch";
import { expect, it } from "vitest";
import { z } from "zod";
import { failure } from "../../../test/behaviour/tools.js";

const service = { name: "failures.v1.Failures", id: 7305 };
const errors = { BAD: { code: "not_found", details: zodCodec(z.object({ id: z.string() })) } } as const;
const methods = {
  fits: defineMethod(service, "unary", "fits", { id: 1, errors }),
  misfit: defineMethod(service, "unary", "misfit", { id: 2, errors }),
  large: defineMethod(service, "unary", "large", { id: 3, errors }),
  long: defineMethod(service, "unary", "long", { id: 4, errors }),
};
const MAX_FRAME = 70_000;
const router = createRouter(methods, {
  fits: () => {
    throw rpcError(methods.fits, "BAD", { id: "a" });
  },
  misfit: () => {
    throw rpcError(methods.misfit, "BAD", { id: 5 as never });
  },
  large: () => {
    throw rpcError(methods.large, "BAD", { id: "x".repeat(MAX_FRAME) });
  },
  long: () => {
    throw rpcError(methods.long, "BAD", { id: "a" }, { message: "ö".repeat(10_000) });
  },
});

it.each([
  ["fits", { reason: "BAD", details: { id: "a" } }, []],
  [
    "misfit",
    { reason: undefined, details: { id: 5 } },
    [expect.stringMatching(/^failures.v1.Failures\/misfit: the details of BAD do not fit their schema: /)],
  ],
  ["large", { reason: undefined, details: undefined }, []],
  ["long", { reason: "BAD", details: { id: "a" } }, []],
] as const)("details: %s", async (name, fields, reports) => {
  const [ours, theirs] = createMemoryPair();
  const reported: string[] = [];
  const served = createSession(theirs, {
    routers: [router, createBatches()],
    limits: { maxFrameBytes: MAX_FRAME },
    onError: (error, { method }) => void reported.push(`${method}: ${(error as Error).message}`),
  });
  const session = createSession(ours);
  const method = methods[name];
  const batch = createBatch(session, { failures: methods });
  const calls: [Promise<unknown>, Promise<unknown>] = [
    session.unary(method, undefined),
    batch.send(batch.failures[name]()),
  ];
  const [plain, batched]: RpcError[] = await Promise.all(calls.map(failure));
  for (const error of [plain, batched]) {
    expect(error).toMatchObject({ code: "not_found", ...fields });
    expect(isRpcErrorOf(method, error)).toBe(fields.reason !== undefined);
  }
  expect(batched?.message).toBe(`${plain?.message} (step 0 of the batch, ${service.name}/${name})`);
  expect(reported).toEqual([...reports, ...reports]);
  await session.close();
  await served.close();
});
