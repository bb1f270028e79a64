import { describe, expect, it } from "vitest";
import { defineMethod } from "../client/define-method.js";
import { ProtocolError } from "../errors.js";
import { Cursor } from "../wire/cursor.js";
import { type FailureSite, MisfitNotices } from "./dispatch.js";
import { createRouter, MethodTable } from "./router.js";

const service = { name: "test.v1.Notices", id: 9 };
const one = defineMethod(service, "unary", "one", { id: 1 });
const two = defineMethod(service, "unary", "two", { id: 2 });
const table: MethodTable<never> = MethodTable.of([createRouter({ one, two }, { one() {}, two() {} })]);

function listening(): {
  told: (FailureSite & { error: string })[];
  receive: (bytes: Uint8Array, serviceId?: number) => void;
} {
  const told: (FailureSite & { error: string })[] = [];
  const notices = new MisfitNotices(table, (error, site) => told.push({ error: String(error), ...site }));
  const receive = (bytes: Uint8Array, serviceId = 9): void =>
    notices.receive({ serviceId, methodId: 0, cursor: new Cursor(bytes, 0, bytes.length) });
  return { told, receive };
}

const notice = (methodId: number, reason: string | Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(methodId), Buffer.from(reason)]);

describe("notices of answers that do not fit", () => {
  it("are told once of each method, however often they come", () => {
    const { told, receive } = listening();
    for (let i = 0; i < 1000; i++) for (const id of [1, 2]) receive(notice(id, `reason ${i}`));
    expect(told.map(({ method }) => method)).toEqual(["test.v1.Notices/one", "test.v1.Notices/two"]);
    expect(told[0]?.error).toBe("RpcError: the caller could not decode the response: reason 0");
  });

  it("of methods that are not served are dropped", () => {
    const { told, receive } = listening();
    for (let id = 0; id < 64; id++) if (id !== 1 && id !== 2) receive(notice(id, "none"));
    receive(notice(1, "another service"), 10);
    expect(told).toEqual([]);
  });

  it("are cut and escaped", () => {
    const { told, receive } = listening();
    receive(notice(1, `\u001b[31m${"x".repeat(1e6)}`));
    expect(told[0]?.error).toContain("\\u{1b}[31mxxx");
    expect(told[0]?.error.length).toBeLessThan(700);
    receive(notice(2, Uint8Array.of(0xff, 0xc0, 0x80)));
    expect(told).toHaveLength(2);
  });

  it("without a method are protocol errors", () => {
    const { receive } = listening();
    expect(() => receive(new Uint8Array(0))).toThrow(ProtocolError);
    expect(() => receive(Uint8Array.of(0x80))).toThrow(ProtocolError);
  });
});
