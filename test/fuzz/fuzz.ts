import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mutant, Random } from "./mutate.js";

/** A parser of received data, and the properties that must hold for any input. */
export interface Target {
  readonly name: string;
  /** Valid inputs from which others are derived; those that once failed are stored in files. */
  readonly corpus: readonly Uint8Array[];
  /**
   * Throws if a property does not hold. Returns the number of values decoded from the input, which must be bounded by
   * its length.
   */
  run(input: Uint8Array, random: Random): number | Promise<number>;
}

/** Maximum number of values for each byte of input, and for an empty input. */
const MAX_VALUES_PER_BYTE = 8;
const MAX_VALUES = 64;
/** Microseconds of CPU for an input, and for each of its bytes: some hundred times what is usual. */
const MAX_TIME = 50_000;
const MAX_TIME_PER_BYTE = 20;

const folder = join(import.meta.dirname, "corpus");

/** Runs the target on its corpus, then on `count` inputs near it or for `seconds`. A failing input is kept, and named in the error. */
export async function fuzz(
  target: Target,
  { seed, count, seconds }: { seed: number; count: number; seconds?: number | undefined },
): Promise<number> {
  const kept = keptInputs(target.name);
  const corpus = [...target.corpus, ...kept];
  for (const input of corpus) await judge(target, input, seed);
  const end = seconds === undefined ? undefined : Date.now() + seconds * 1000;
  const random = new Random(seed);
  let runs = 0;
  while (end === undefined ? runs < count : Date.now() < end) {
    await judge(target, mutant(corpus, random), seed);
    runs++;
  }
  return runs;
}

async function judge(target: Target, input: Uint8Array, seed: number): Promise<void> {
  try {
    const limit = MAX_TIME + MAX_TIME_PER_BYTE * input.length;
    // A machine may be busy; a parser that is slow is slow again.
    for (let tries = 3, slow = true; slow; tries--) {
      const before = process.cpuUsage();
      const values = await target.run(input, new Random(seed));
      const { user, system } = process.cpuUsage(before);
      slow = user + system > limit;
      if (slow && tries === 0) throw new Error(`takes ${user + system} µs for ${input.length} bytes`);
      const most = MAX_VALUES + MAX_VALUES_PER_BYTE * input.length;
      if (values > most) throw new Error(`makes ${values} values of ${input.length} bytes`);
    }
  } catch (error) {
    const hex = Buffer.from(input).toString("hex");
    const path = join(folder, target.name, `${createHash("sha256").update(input).digest("hex").slice(0, 16)}.hex`);
    mkdirSync(join(folder, target.name), { recursive: true });
    writeFileSync(path, `${hex}\n`);
    throw new Error(`${target.name}: ${(error as Error).message}\nkept in ${path}: ${hex.slice(0, 400)}`, {
      cause: error,
    });
  }
}

/** Returns the inputs that `corpus/<name>` keeps in hex. */
function keptInputs(name: string): Uint8Array[] {
  let files: string[];
  try {
    files = readdirSync(join(folder, name));
  } catch {
    return [];
  }
  return files.map((file) =>
    Uint8Array.from(Buffer.from(readFileSync(join(folder, name, file), "utf8").trim(), "hex")),
  );
}
