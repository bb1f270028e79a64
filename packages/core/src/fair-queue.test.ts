import { describe, expect, it } from "vitest";
import { FairQueue } from "./fair-queue.js";

function filled(entries: string): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const entry of entries.split(" ")) queue.push(entry.charAt(0), entry);
  return queue;
}

function drained(queue: FairQueue<string>, take: () => string | undefined): string {
  const taken: string[] = [];
  while (queue.length > 0) taken.push(take() as string);
  return taken.join(" ");
}

describe("a fair queue", () => {
  it("gives each source a turn, and keeps the order of one source", () => {
    const queue = filled("a1 a2 a3 b1 c1 b2");
    expect(drained(queue, () => queue.shift())).toBe("a1 b1 c1 a2 b2 a3");
    expect(queue.shift()).toBeUndefined();
  });

  it("passes over sources that are not eligible, which keep their turn", () => {
    const queue = filled("a1 a2 b1 b2");
    expect(queue.shift((source) => source !== "a")).toBe("b1");
    expect(queue.shift(() => false)).toBeUndefined();
    expect(drained(queue, () => queue.shift())).toBe("a1 b2 a2");
  });

  it("drops the newest entry of the longest queue", () => {
    const queue = filled("a1 a2 b1 a3 b2");
    expect(drained(queue, () => queue.pop())).toBe("a3 a2 b2 a1 b1");
    expect(queue.pop()).toBeUndefined();
  });

  it("removes an entry once", () => {
    const queue = filled("a1 b1");
    const entry = queue.push("a", "a2");
    queue.remove(entry);
    queue.remove(entry);
    expect(queue.length).toBe(2);
    expect(drained(queue, () => queue.shift())).toBe("a1 b1");
    queue.remove(entry);
    expect(queue.length).toBe(0);
  });

  it("counts the entries of each source", () => {
    const queue = filled("a1 a2 b1");
    queue.pop();
    expect([queue.lengthOf("a"), queue.lengthOf("b"), queue.lengthOf("c")]).toEqual([1, 1, 0]);
  });
});
