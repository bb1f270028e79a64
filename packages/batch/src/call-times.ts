import type { Answer } from "./generated/batch.js";

/** Measures the calls of a batch. Times are in microseconds. */
export class CallTimes {
  private readonly began = performance.now();
  /** Times at which calls started, since the start of the batch. */
  private readonly starts: Map<string, number> = new Map();

  start(step: number, element: number | undefined): void {
    this.starts.set(`${step} ${element}`, this.now());
  }

  /** Returns an answer with the times of its call, which has just ended. If the call has not started, there are none. */
  addTo(answer: Answer): Answer {
    const startedUs = this.starts.get(`${answer.step} ${answer.element}`);
    return startedUs === undefined ? answer : { ...answer, startedUs, tookUs: this.now() - startedUs };
  }

  private now(): number {
    return Math.round((performance.now() - this.began) * 1000);
  }
}
