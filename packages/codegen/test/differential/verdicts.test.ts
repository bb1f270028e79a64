// Random changes of schemas: what `quicrpc breaking` calls safe, the codecs of the two versions take from each other.
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { SHAPE_CHANGES } from "../../src/breaking/change.js";
import { compareShapes } from "../../src/breaking/compare-shapes.js";
import { type CompiledService, compileService, encode, shapeIn } from "../codec/compile.js";
import { same } from "../codec/same.js";
import { anything, nearly, numbers } from "../codec/values.js";
import { createWorkspace } from "../workspace.js";
import { schemaChanges } from "./changes.js";
import { batchesOf, SEED } from "../codec/settings.js";

const VALUES = 20;
const NEAR_EACH = 3;
const CHANGES_PER_BATCH = 60;
const BATCHES = batchesOf(2, CHANGES_PER_BATCH);

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const hostile = fc.sample(anything, { numRuns: 100, seed: SEED });

/** The roles in which a change is called safe for what is sent, of the two: from the old version to the new, and back. */
function safeRoles(
  before: CompiledService,
  after: CompiledService,
  method: string,
): { input: boolean; output: boolean } {
  const safe = { input: true, output: true };
  compareShapes(shapeIn(before, method), shapeIn(after, method), "message", (kind) => {
    const [input, output] = SHAPE_CHANGES[kind];
    if (input === "wire" || input === "validation") safe.input = false;
    if (output === "wire" || output === "validation") safe.output = false;
  });
  return safe;
}

describe.each(Array.from({ length: BATCHES }, (_, batch) => batch))("verdicts of breaking, batch %i", (batch) => {
  const seed = SEED + batch;

  test("what is called safe, the other version takes", { timeout: 120_000 }, async () => {
    const random = numbers(seed);
    const changes = fc.sample(schemaChanges(2), { numRuns: CHANGES_PER_BATCH, seed });
    let [safe, sent] = [0, 0];
    const disagreements: string[] = [];
    const compile = (version: "before" | "after"): Promise<CompiledService> =>
      compileService(
        workspace,
        `${version}${batch}.service.ts`,
        changes.map((change) => change[version]),
      );
    const [before, after] = [await compile("before"), await compile("after")];
    for (const [i, change] of changes.entries()) {
      const roles = safeRoles(before, after, `m${i}`);
      for (const [role, from, to, { valid }] of [
        ["input", before, after, change.before],
        ["output", after, before, change.after],
      ] as const) {
        if (!roles[role]) continue;
        safe++;
        const [schema, sender, receiver] = [from.samples[i]?.schema, from.samples[i]?.codec, to.samples[i]?.codec];
        if (schema === undefined || sender === undefined || receiver === undefined)
          throw new Error("nothing was compiled");
        const values = fc
          .sample(valid, { numRuns: VALUES, seed })
          .flatMap((value) => [value, ...Array.from({ length: NEAR_EACH }, () => nearly(value, hostile, random))]);
        for (const value of values) {
          let bytes: Uint8Array;
          try {
            // Undeclared fields are another version's declared ones.
            if (!same(schema.parse(value), value)) continue;
            bytes = encode(sender, value);
          } catch {
            continue;
          }
          sent++;
          try {
            receiver.decode(bytes, 0, bytes.length);
          } catch (error) {
            disagreements.push(
              `${role}\n  ${change.before.source}\n  ${change.after.source}\n  ${fc.stringify(value)}\n  ${String(error)}`,
            );
            break;
          }
        }
      }
    }
    expect(disagreements).toEqual([]);
    expect(safe).toBeGreaterThan(CHANGES_PER_BATCH / 4);
    expect(sent).toBeGreaterThan((safe * VALUES) / 4);
  });
});
