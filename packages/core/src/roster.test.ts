import fc from "fast-check";
import { expect, it } from "vitest";
import { type Placed, Roster } from "./roster.js";

it("has whoever came and has not left, as a set does", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(7))), (steps) => {
      const members: readonly Placed[] = Array.from({ length: 8 }, () => ({ place: -1 }));
      const roster = new Roster<Placed>();
      const model = new Set<Placed>();
      for (const [comes, index] of steps) {
        const member = members[index];
        if (member === undefined) continue;
        if (comes && !model.has(member)) {
          roster.add(member);
          model.add(member);
        } else if (!comes) {
          roster.delete(member);
          model.delete(member);
        }
        expect(roster.all().every((each) => model.has(each))).toBe(true);
        expect(roster.all()).toHaveLength(model.size);
        for (const each of members) expect(each.place >= 0).toBe(model.has(each));
      }
    }),
  );
});

it("shows those of one moment", () => {
  const roster = new Roster<Placed>();
  const members = [{ place: -1 }, { place: -1 }, { place: -1 }];
  for (const member of members) roster.add(member);
  for (const member of roster.all()) roster.delete(member);
  expect(roster.all()).toEqual([]);
});
