import { bearerToken, createLocalCaller, interceptCaller } from "@quicrpc/core";
import { expect, it, vi } from "vitest";
import { arithRouter, clientOf, dividend, forwarding, local, multiply, start, timed, whoRouter } from "./calls.js";
import { createArithClient } from "./generated/arith.js";

it("one method starts calls of any kind, and makes callers of one's own", async () => {
  const caller = createLocalCaller([arithRouter]);
  expect(await start(caller)).toEqual({ pro: 18 });
  expect(await clientOf(caller as never).multiply({ a: 3, b: 4 })).toEqual({ pro: 12 });
});

it("metadata and trailers go with a call, both ways", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  expect(await multiply(local({ name: "ann" }, []), Uint8Array.of(1))).toBe(18);
  expect(log.mock.calls.flat()).toEqual(["eu-1", "3"]);
  log.mockRestore();
});

it("errors of the schema are told apart by their reason", async () => {
  const arith = local({ name: "ann" }, []);
  expect(await dividend(arith, { a: 9, b: 2 })).toBe(4);
  expect(await dividend(arith, { a: 9, b: 0 })).toBe("9 / 0");
});

it("interceptors stand around calls on both sides", async () => {
  const recorded: string[] = [];
  const { server, connection } = await timed("tcp://127.0.0.1:0", ({ name }) => recorded.push(name));
  await createArithClient(connection).multiply({ a: 1, b: 2 });
  expect(recorded).toEqual(["multiply", "multiply"]);
  await connection.close();
  await server.close();
});

it("an interceptor leaves what it has found out for the handler", async () => {
  const caller = createLocalCaller([whoRouter((token) => ({ name: token }))], { onError: () => {} });
  const arith = createArithClient(interceptCaller(caller, [bearerToken("ann")]));
  expect(await arith.divide({ a: 1, b: 1 })).toEqual({ quo: 3 });
  await expect(createArithClient(caller).divide({ a: 1, b: 1 })).rejects.toMatchObject({ code: "unauthenticated" });
});

it("a call on behalf of another ends with it", async () => {
  const payments = createArithClient(createLocalCaller([arithRouter]));
  const arith = createArithClient(createLocalCaller([forwarding(payments)]));
  expect(await arith.multiply({ a: 6, b: 7 })).toEqual({ pro: 42 });
  await expect(arith.multiply({ a: 6, b: 7 }, { timeoutMs: 0 })).rejects.toMatchObject({ code: "deadline_exceeded" });
});
