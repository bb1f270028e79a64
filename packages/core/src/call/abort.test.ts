import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { onAbort } from "./watch.js";

it("a signal has one listener for all that wait for it, and none when nobody does", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: number[] = [];
  const forget = [1, 2, 3].map((n) => onAbort(signal, () => void called.push(n)));
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  for (const one of forget) one();
  expect(getEventListeners(signal, "abort")).toHaveLength(0);

  onAbort(signal, () => void called.push(4));
  const five = onAbort(signal, () => void called.push(5));
  // A callback removes another callback while the signal fires.
  onAbort(signal, () => five());
  onAbort(signal, () => void called.push(6))();
  controller.abort();
  five();
  expect(called).toEqual([4, 5]);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

it("calls back for a signal that has fired before, unless that is taken back", async () => {
  const signal = AbortSignal.abort();
  const called: number[] = [];
  const forget = [1, 2, 3].map((n) => onAbort(signal, () => void called.push(n)));
  forget[1]?.();
  expect(called).toEqual([]);
  await Promise.resolve();
  expect(called).toEqual([1, 3]);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
