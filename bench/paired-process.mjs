import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fail } from "../scripts/setup.mjs";

/** One version's process, which runs slices of the hot paths: bench/src/paired-peer.ts says how it is spoken to. */
export class PairedProcess {
  static async start({ peer, name }, flags) {
    const child = spawn(process.execPath, [...flags, peer], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ended = once(child, "exit").then(() => fail(`The process of ${name} has ended.`));
    const started = Object.assign(new PairedProcess(), { child, lines, ended });
    started.paths = (await started.answer()).paths;
    return started;
  }

  /** CPU time of so many runs of a path, in microseconds. */
  async slice(name, runs) {
    this.child.stdin.write(`${JSON.stringify({ path: this.paths.indexOf(name), runs })}\n`);
    return (await this.answer()).micros;
  }

  async answer() {
    return JSON.parse((await Promise.race([this.lines.next(), this.ended])).value);
  }

  stop() {
    this.child.removeAllListeners();
    this.child.kill("SIGKILL");
  }
}
