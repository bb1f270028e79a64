import { describe, expect, it } from "vitest";
import { LinkedSet } from "./linked-set.js";

const valuesOf = <Value>(set: LinkedSet<Value>): Value[] => Array.from(set, ({ value }) => value);

describe("a linked set", () => {
  it("has its values in the order in which they came", () => {
    const set = new LinkedSet<string>();
    expect(valuesOf(set)).toEqual([]);
    for (const value of "abc") set.add(value);
    expect(valuesOf(set)).toEqual(["a", "b", "c"]);
  });

  it.each(["a", "b", "c"])("has the others once %s is removed, and takes more", (removed) => {
    const set = new LinkedSet<string>();
    const links = new Map(Array.from("abc", (value) => [value, set.add(value)]));
    const link = links.get(removed);
    if (link === undefined) throw new Error("no such link");
    set.remove(link);
    set.remove(link);
    set.add("d");
    expect(valuesOf(set)).toEqual(["a", "b", "c", "d"].filter((value) => value !== removed));
  });

  it("leaves a removed link without others: what is dead keeps nothing alive", () => {
    const set = new LinkedSet<string>();
    const links = Array.from("abc", (value) => set.add(value));
    for (const link of Array.from(set)) set.remove(link);
    expect(links.flatMap(({ previous, next }) => [previous, next])).toEqual(Array(6).fill(undefined));
    expect(valuesOf(set)).toEqual([]);
  });

  it("may lose the current value while it is iterated", () => {
    const set = new LinkedSet<string>();
    for (const value of "abc") set.add(value);
    const seen: string[] = [];
    for (const link of set) {
      seen.push(link.value);
      set.remove(link);
    }
    expect(seen).toEqual(["a", "b", "c"]);
    expect(valuesOf(set)).toEqual([]);
  });
});
