// Checks that the hot paths cost no more than when `guard.json` was written: `npm run bench:guard [-- --update]`. Bytes
// allocated for each operation hardly depend on the machine or its load. CPU time is compared with that of a
// calibration loop in the same process, in turns, and has a wider tolerance.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { hotPaths } from "./hot-paths.js";

interface Cost {
  readonly bytes: number;
  /** Cost of 1,000 operations, in rounds of the calibration loop. */
  readonly cpu?: number;
}

type Baseline = Readonly<Record<string, Readonly<Record<string, Cost>>>>;

/** Flags under which V8 optimises code at the same call in every run, and collects nothing while bytes are counted. */
const FLAGS = [
  "--single-threaded-gc",
  "--no-concurrent-recompilation",
  "--expose-gc",
  "--min-semi-space-size=64",
  "--max-semi-space-size=64",
];
const BYTES_TOLERANCE = 1.15;
/** Tolerance in bytes for an operation that V8 may or may not have optimised away. */
const BYTES_SLACK = 128;
const CPU_TOLERANCE = 1.6;
const SLICES = 15;
const WARM_UP_SLICES = 10;

const file = fileURLToPath(new URL("../guard.json", import.meta.url));
const update = process.argv.includes("--update");
if (globalThis.gc === undefined) {
  const { status } = spawnSync(process.execPath, [...FLAGS, ...process.argv.slice(1)], { stdio: "inherit" });
  process.exit(status ?? 1);
}

const version = `Node ${process.versions.node.split(".")[0]}`;
const baseline = JSON.parse(readFileSync(file, "utf8")) as Baseline;
const expected = baseline[version];
const measured = await measureAll();
if (update) {
  writeFileSync(file, `${JSON.stringify({ ...baseline, [version]: { ...expected, ...measured } }, null, 2)}\n`);
} else if (expected === undefined) {
  console.log(`skipped: bench/guard.json has no costs under ${version}; npm run bench:guard -- --update writes them`);
  process.exit(0);
}
process.exit(compare(expected ?? measured) ? 0 : 1);

function compare(costs: Readonly<Record<string, Cost>>): boolean {
  let held = true;
  const rows = Object.entries(measured).map(([name, { bytes, cpu }]) => {
    const before: Cost = costs[name] ?? { bytes, ...(cpu !== undefined && { cpu }) };
    const faults = [
      ...(bytes > before.bytes * BYTES_TOLERANCE + BYTES_SLACK ? ["allocates more"] : []),
      ...(cpu !== undefined && before.cpu !== undefined && cpu > before.cpu * CPU_TOLERANCE ? ["takes longer"] : []),
    ];
    if (faults.length > 0) held = false;
    return { name, bytes, "bytes before": before.bytes, cpu, "cpu before": before.cpu, "": faults.join(", ") };
  });
  console.table(rows);
  if (!held)
    console.log("A hot path costs more than bench/guard.json says. If it has to: npm run bench:guard -- --update");
  return held;
}

/** Returns the minimum of many short slices, because disturbances only make a slice longer. */
async function measureAll(): Promise<Record<string, Cost>> {
  const costs: Record<string, Cost> = {};
  for (const { name, operations, system, run } of await hotPaths()) {
    let cpu = Infinity;
    let calibration = Infinity;
    for (let slice = -WARM_UP_SLICES; slice < SLICES; slice++) {
      const started = process.cpuUsage();
      await run();
      const took = micros(started);
      const between = process.cpuUsage();
      calibrate();
      if (slice < 0) continue;
      cpu = Math.min(cpu, (took * 1000) / operations);
      calibration = Math.min(calibration, micros(between));
    }
    let bytes = Infinity;
    for (let slice = 0; slice < SLICES / 3; slice++) {
      globalThis.gc?.();
      const before = process.memoryUsage().heapUsed;
      await run();
      bytes = Math.min(bytes, (process.memoryUsage().heapUsed - before) / operations);
    }
    costs[name] = { bytes: Math.round(bytes), ...(!system && { cpu: Number((cpu / calibration).toFixed(4)) }) };
  }
  return costs;
}

function micros(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

/** Runs the calibration loop: objects, maps, bytes and closures, for some milliseconds. */
function calibrate(): number {
  const table = new Map<number, { readonly bytes: Uint8Array; readonly done: () => number }>();
  const bytes = new Uint8Array(4096);
  let sum = 0;
  for (let i = 0; i < 20_000; i++) {
    bytes[i & 4095] = i;
    table.set(i & 255, { bytes: bytes.subarray(i & 1023, 2048), done: () => sum + i });
    sum = ((table.get((i * 7) & 255)?.done() ?? 0) + (bytes[(i * 31) & 4095] ?? 0)) & 0xffff;
  }
  return sum;
}
