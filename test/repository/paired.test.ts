// What `npm run bench:paired` makes of slices: losses are found, and chance is not taken for one.
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";

const script = new URL("../../bench/paired-statistics.mjs", import.meta.url).href;

/** How many of so many comparisons end as losses. `launchNoise` is what a pair of processes differs by, `sliceNoise` a pair of slices. */
function losses({ loss, comparisons, launchNoise = 0.015, sliceNoise = 0.05 }: Record<string, number>): number {
  const program = `
    import { generator, isLoss, isSuspect, ratioOf } from ${JSON.stringify(script)};
    const random = generator(7);
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const launches = (count) => Array.from({ length: count }, () => {
      const shift = Math.log(1 + ${loss}) + ${launchNoise} * normal();
      return Array.from({ length: 25 }, () => {
        // Now and then something else takes the caches away.
        const busy = () => (random() < 0.1 ? 1.5 : 1) * Math.exp((${sliceNoise} / Math.SQRT2) * normal());
        return [15000 * busy(), 15000 * Math.exp(shift) * busy()];
      });
    });
    let found = 0;
    for (let at = 0; at < ${comparisons}; at++) {
      const first = launches(8);
      if (!isSuspect(ratioOf(first))) continue;
      const again = launches(16);
      if (isLoss(ratioOf(again), ratioOf([...first, ...again]))) found++;
    }
    console.log(found);
  `;
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" }));
}

describe("paired runs", () => {
  it("take no noise for a loss, and no loss that is below the limit", () => {
    expect(losses({ loss: 0, comparisons: 60 })).toBe(0);
    expect(losses({ loss: 0, comparisons: 60, launchNoise: 0.04, sliceNoise: 0.3 })).toBe(0);
    expect(losses({ loss: 0.01, comparisons: 60 })).toBe(0);
  });

  it("find a loss of 5 % nearly always, and a larger one always", () => {
    expect(losses({ loss: 0.05, comparisons: 40 })).toBeGreaterThan(34);
    expect(losses({ loss: 0.1, comparisons: 20 })).toBe(20);
  });
});
