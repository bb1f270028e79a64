import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Fleet, type FleetOptions, type FleetResult, type Second } from "./fleet.js";

/** Where the results of `node scripts/fleet.mjs` go, which runs the full size. */
const file = process.env["QUICRPC_FLEET_RESULTS"];
const full = { servers: 100, clients: 10_000 };
const small = { servers: 30, clients: 900 };

beforeEach(() => {
  // mulberry32
  let state = 7;
  vi.spyOn(Math, "random").mockImplementation(() => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  });
});
afterEach(() => void vi.restoreAllMocks());

function run(capacity: number, budgets = true): { readonly result: FleetResult; readonly options: FleetOptions } {
  const { servers, clients } = file === undefined ? small : full;
  const options: FleetOptions = {
    servers,
    clients,
    size: file === undefined ? 10 : 20,
    // 100 calls per second and server while all live, 150 once a third is lost.
    callRate: (100 * servers) / clients,
    capacity,
    lossAt: 10_000,
    lost: Math.floor(servers / 3),
    returnAt: 30_000,
    endAt: 50_000,
    budgets,
  };
  return { options, result: new Fleet(options).run() };
}

const from = ({ seconds }: FleetResult, start: number, end: number): readonly Second[] => seconds.slice(start, end);
const sum = (seconds: readonly Second[], what: "calls" | "attempts" | "answered" | "failed"): number =>
  seconds.reduce((total, second) => total + second[what], 0);
const spread = ({ loads }: Second): number => {
  const mean = loads.reduce((total, load) => total + load, 0) / loads.length;
  return Math.max(...loads.map((load) => Math.abs(load - mean))) / Math.sqrt(mean);
};

describe("a fleet in virtual time", () => {
  const enough = 180;
  const tooLittle = 120;

  it("is balanced, and loses few calls with a third of its servers", () => {
    const { result, options } = run(enough);
    if (file !== undefined) writeFileSync(`${file}.enough`, JSON.stringify({ options, ...result }));
    const mean = (options.clients * options.size) / options.servers;
    for (const count of result.sessions) expect(Math.abs(count - mean)).toBeLessThan(5 * Math.sqrt(mean));
    for (const second of from(result, 1, 10)) expect(spread(second)).toBeLessThan(5);
    expect(sum(from(result, 0, 10), "failed")).toBe(0);
    const afterwards = from(result, 10, 50);
    expect(sum(afterwards, "failed")).toBeLessThan(options.servers);
    // The servers that are left share the load of the others, and those that come back take theirs again.
    expect(sum(from(result, 12, 30), "answered") / sum(from(result, 12, 30), "calls")).toBeGreaterThan(0.999);
    for (const second of from(result, 47, 50)) {
      expect(second.loads).toHaveLength(options.servers);
      expect(spread(second)).toBeLessThan(7);
    }
  });

  it("has no retry storm when what is left of it cannot serve all: budgets bound what is made again", () => {
    const bounded = run(tooLittle).result;
    const unbounded = run(tooLittle, false).result;
    if (file !== undefined) writeFileSync(`${file}.overload`, JSON.stringify({ bounded, unbounded }));
    const ratio = (result: FleetResult): number => {
      const overload = from(result, 15, 30);
      return sum(overload, "attempts") / sum(overload, "calls");
    };
    expect(ratio(bounded)).toBeLessThan(1.3);
    expect(ratio(unbounded)).toBeGreaterThan(1.8);
    // As many calls as the servers can take are answered all the while, and all once they are back.
    const overload = from(bounded, 15, 30);
    expect(sum(overload, "answered") / sum(overload, "calls")).toBeGreaterThan((tooLittle / 150) * 0.98);
    expect(sum(from(bounded, 45, 50), "failed")).toBe(0);
  });
});
