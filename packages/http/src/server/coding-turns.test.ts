import { expect, it } from "vitest";
import { inCodingTurn } from "./coding-turns.js";

it("runs 16 compressions at once, then one for each that ends; clients take turns", async () => {
  const ends: (() => void)[] = [];
  const started: string[] = [];
  const bytes = new Uint8Array(1);
  const begin = (client: string): Promise<Uint8Array> =>
    inCodingTurn(client, () => {
      started.push(client);
      return new Promise((resolve, reject) =>
        ends.push(() => (ends.length % 2 === 0 ? resolve(bytes) : reject(new Error("damaged")))),
      );
    });
  const clients = [...Array.from({ length: 19 }, () => "a"), "b"];
  const outcomes = Promise.allSettled(clients.map(begin));
  expect(started).toEqual(clients.slice(0, 16));
  for (const [count, client] of [
    [17, "a"],
    [18, "b"],
    [19, "a"],
    [20, "a"],
  ] as const) {
    ends.shift()?.();
    await Promise.resolve();
    for (let turns = 0; turns < 10 && started.length < count; turns++) await Promise.resolve();
    expect(started).toHaveLength(count);
    expect(started.at(-1)).toBe(client);
  }
  for (const end of ends) end();
  await outcomes;
  let rest = 0;
  void Array.from({ length: 16 }, () => inCodingTurn("c", async () => ((rest += 1), await Promise.resolve(bytes))));
  expect(rest).toBe(16);
});
