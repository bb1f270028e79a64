import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Answer, Command, Usage } from "./protocol.js";

/** Milliseconds after which a peer that has not answered counts as failed. */
const ANSWER_TIMEOUT_MS = 180_000;

/** A process at one end of a contestant, controlled with the messages of `protocol.ts`. */
export class PeerProcess {
  private readonly child: ChildProcess;
  private waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined;
  private ended: Error | undefined;

  private constructor([command = "", ...args]: readonly string[]) {
    this.child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    const { stdin, stdout } = this.child;
    // The event `exit` reports its end.
    stdin?.on("error", () => {});
    if (stdout !== null) createInterface({ input: stdout }).on("line", (line) => this.receive(line));
    this.child.once("error", (error) => this.end(error));
    this.child.once("exit", (code, signal) => this.end(new Error(`a peer ended with ${signal ?? `code ${code}`}`)));
  }

  /** Resolves with the process and the port on which it is ready, which is 0 for a client. */
  static async start(command: readonly string[]): Promise<[PeerProcess, number]> {
    const peer = new PeerProcess(command);
    try {
      const answer = await peer.answer();
      if ("ready" in answer) return [peer, answer.ready];
      throw new Error("failed" in answer ? answer.failed : "a peer did not become ready");
    } catch (error) {
      peer.stop();
      throw error;
    }
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  ask(command: Command): Promise<Answer> {
    const answer = this.answer();
    this.child.stdin?.write(`${JSON.stringify(command)}\n`);
    return answer;
  }

  async usage({ collect = false, grown = false } = {}): Promise<Usage> {
    const answer = await this.ask({ usage: { collect, grown } });
    if ("usage" in answer) return answer.usage;
    throw new Error("failed" in answer ? answer.failed : "no answer to usage");
  }

  stop(): void {
    this.child.stdin?.end();
    // One that is stuck does not see that.
    const timer = setTimeout(() => this.child.kill("SIGKILL"), 1000);
    timer.unref();
    this.child.once("exit", () => clearTimeout(timer));
  }

  private answer(): Promise<Answer> {
    const answer = new Promise<Answer>((resolve, reject) => (this.waiting = { resolve, reject }));
    if (this.ended !== undefined) this.end(this.ended);
    const timer = setTimeout(() => {
      this.end(new Error(`no answer within ${ANSWER_TIMEOUT_MS / 1000} s`));
      this.child.kill("SIGKILL");
    }, ANSWER_TIMEOUT_MS);
    return answer.finally(() => clearTimeout(timer));
  }

  private receive(line: string): void {
    const { waiting } = this;
    this.waiting = undefined;
    try {
      waiting?.resolve(JSON.parse(line) as Answer);
    } catch {
      waiting?.reject(new Error(`a peer said what is no answer: ${line}`));
    }
  }

  private end(error: Error): void {
    this.ended ??= error;
    this.waiting?.reject(error);
    this.waiting = undefined;
  }
}
