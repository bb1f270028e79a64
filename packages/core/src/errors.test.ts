import { describe, expect, it } from "vitest";
import { untracedError } from "./errors.js";

describe("an error without a trace", () => {
  it("has its message alone as its stack", () => {
    const error = untracedError("deadline_exceeded", "too late", { hint: "ask earlier" });
    expect(error.stack).toBe("RpcError: too late");
    expect([error.code, error.hint]).toEqual(["deadline_exceeded", "ask earlier"]);
  });

  it("leaves other errors theirs", () => {
    const limit = Error.stackTraceLimit;
    untracedError("internal", "a");
    expect(Error.stackTraceLimit).toBe(limit);
  });
});
