import { expect, it } from "vitest";
import { completeConditions } from "./conditions.js";
import { NETWORKS, parseNetwork } from "./parse-network.js";

it("reads round trips, losses and rates", () => {
  expect(parseNetwork("rtt=80 loss=2 down=3mbit")).toEqual({
    conditions: { delayMs: 40, loss: 0.02, downBytesPerSecond: 375_000 },
  });
  expect(parseNetwork("rtt=0.1s,rate=64kbit queue=10")).toEqual({
    conditions: { delayMs: 50, downBytesPerSecond: 8000, upBytesPerSecond: 8000, queueBytes: 12_000 },
  });
});

it("reads names, with changes", () => {
  expect(parseNetwork("3g loss=5").conditions).toMatchObject({ delayMs: 75, loss: 0.05 });
  expect(parseNetwork("no-udp")).toEqual({ conditions: { udpBlocked: true } });
  for (const name of Object.keys(NETWORKS)) completeConditions(parseNetwork(name).conditions);
});

it("reads outages", () => {
  expect(parseNetwork("offline 5s")).toEqual({ conditions: {}, outages: { offlineMs: 5000 } });
  expect(parseNetwork("flaky-wifi offline=200ms").outages).toEqual({ offlineMs: 200 });
});

it.each([
  ["5g", "3g"],
  ["flaky-wify", "flaky-wifi"],
  ["no-upd", "no-udp"],
  ["rrt=80", "rtt=80"],
  ["rtt=80 los=2", "loss=2"],
  ["offlin 5s", "offline"],
])("says what was meant by %j", (text, meant) => {
  expect(() => parseNetwork(text)).toThrow(`did you mean ${meant}?`);
});

it.each([["5g"], ["loss=x"], ["loss=200"], ["rtt="], ["offline"], [""], ["constructor"], ["rtt=-4"]])(
  "says what it takes instead of %j",
  (text) => {
    expect(() => parseNetwork(text)).toThrow(TypeError);
  },
);
