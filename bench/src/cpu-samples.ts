import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns why `perf` cannot sample here, or undefined if it can. */
export function perfObstacle(): string | undefined {
  const { status } = spawnSync("perf", ["record", "-q", "-o", "/dev/null", "--", "true"], { stdio: "ignore" });
  if (status === 0) return undefined;
  return "skipped: profiles need Linux's perf and the right to use it (apt-get install linux-perf; as root, or kernel.perf_event_paranoid=1)";
}

/** A share of the CPU time (of 1), and the library and function in which it was spent. */
export interface Share {
  readonly share: number;
  readonly library: string;
  readonly symbol: string;
}

/** Samples running processes from `start` to `stop`. */
export class CpuSamples {
  private readonly file: string;
  private readonly perf: ChildProcess;

  private constructor(file: string, perf: ChildProcess) {
    this.file = file;
    this.perf = perf;
  }

  static async start(processes: readonly number[]): Promise<CpuSamples> {
    const file = join(tmpdir(), `quicrpc-${process.pid}.perf`);
    const pids = processes.join(",");
    const perf = spawn("perf", ["record", "-q", "-F", "4999", "-p", pids, "-o", file], { stdio: "ignore" });
    await once(perf, "spawn");
    return new CpuSamples(file, perf);
  }

  async stop(): Promise<readonly Share[]> {
    this.perf.kill("SIGINT");
    await once(this.perf, "exit");
    const args = ["report", "-i", this.file, "--stdio", "--no-children", "-g", "none", "-F", "overhead,dso,sym"];
    const { stdout } = spawnSync("perf", [...args, "-t", "\t"], { encoding: "utf8", maxBuffer: 2 ** 28 });
    rmSync(this.file, { force: true });
    return stdout.split("\n").flatMap(parse);
  }
}

function parse(line: string): Share[] {
  const [percent, library, symbol] = line.split("\t");
  if (line.startsWith("#") || percent === undefined || library === undefined || symbol === undefined) return [];
  // `[.]` and `[k]` say whether it is the kernel's.
  return [{ share: Number.parseFloat(percent) / 100, library: library.trim(), symbol: symbol.trim().slice(4) }];
}
