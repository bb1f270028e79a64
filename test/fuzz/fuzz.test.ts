// Every parser of what a peer sends, on inputs near those that mean something. `npm run fuzz` does the same for longer.
import { describe, expect, it } from "vitest";
import { fuzz } from "./fuzz.js";
import { httpTargets } from "./http.js";
import { sessionTarget } from "./session.js";
import { transportTargets } from "./transports.js";
import { valueTargets } from "./values.js";
import { wireTargets } from "./wire.js";

const seconds = Number(process.env["QUICRPC_FUZZ_SECONDS"]) || undefined;
/** Any other finds other inputs. The one of `npm test` never changes. */
const seed = Number(process.env["QUICRPC_FUZZ_SEED"]) || 1;

describe("fuzz", () => {
  it.each([...wireTargets, ...valueTargets, ...httpTargets, ...transportTargets, sessionTarget])(
    "$name",
    { timeout: ((seconds ?? 0) + 60) * 1000 },
    async (target) => {
      const runs = await fuzz(target, { seed, count: target === sessionTarget ? 400 : 1500, seconds });
      if (seconds !== undefined) console.log(`${target.name}: ${runs} inputs, seed ${seed}`);
      expect(runs).toBeGreaterThan(0);
    },
  );
});
