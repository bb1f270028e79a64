import { describe, expect, it } from "vitest";
import { untracedError } from "./errors.js";
import { lostCall } from "./transport/close-codes.js";

describe("an error without a trace", () => {
  it("has its message alone as its stack", () => {
    const error = untracedError("deadline_exceeded", "too late", { hint: "ask earlier" });
    expect(error.stack).toBe("RpcError: too late");
    expect([error.code, error.hint]).toEqual(["deadline_exceeded", "ask earlier"]);
  });

  it("is that of a call whose session has ended, however it did", () => {
    const refused = Object.assign(new Error("closed"), { closeCode: 0x107, reason: "not you" });
    for (const why of [undefined, new Error("reset"), refused]) {
      expect(lostCall(why).stack).toBe(`RpcError: ${lostCall(why).message}`);
    }
  });

  it("leaves other errors theirs", () => {
    const limit = Error.stackTraceLimit;
    untracedError("internal", "a");
    expect(Error.stackTraceLimit).toBe(limit);
  });
});
