import { type Interceptor, observeResponse } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { fullName, isObject } from "@quicrpc/core/internal";

/** One step of a batch: a call, or a call for each element of a list. */
export interface BatchStep {
  /** Name of the method, as "service/method". */
  readonly method: string;
  /** Indexes of the steps whose responses it takes. */
  readonly needs: readonly number[];
  /** Number of elements. Undefined if the step is a single call, or if the number is unknown. */
  readonly elements: number | undefined;
  /**
   * Milliseconds from the start of the batch at the server until the first call of the step started. Undefined if no
   * call has started, or if the server sends no times.
   */
  readonly fromMs: number | undefined;
  /** Milliseconds from the start of the first call until the end of the last one. Undefined if `fromMs` is. */
  readonly ms: number | undefined;
  /** "ok", or the code and message of the first failure. Undefined if the server has not said how the step ended. */
  readonly result: string | undefined;
}

/** Returns true for the method that makes the calls of a batch. */
export function isBatch(method: AnyMethod): boolean {
  return fullName(method) === "quicrpc.v1.Batch/run";
}

/**
 * Returns an interceptor for callers that calls `onSteps` with the steps of each batch when it has ended. It asks the
 * server for the times of the calls, which only servers with `createBatches({ timings: true })` send.
 *
 * @example
 * const observed = interceptCaller(connection, [batchTimings((steps) => console.table(steps))]);
 * const batch = createBatch(observed, { users: usersMethods });
 */
export function batchTimings(onSteps: (steps: readonly BatchStep[]) => void): Interceptor {
  return async (call, next) => {
    const { method, input } = call;
    if (!isBatch(method) || !isObject(input)) return next(call);
    const steps = objectsIn(input["steps"]).map((step) => new ObservedStep(step));
    const onOver = (): void => onSteps(steps.map((step) => step.state()));
    try {
      const response = await next({ ...call, input: { ...input, timed: true } });
      return observeResponse(response, { onItem: (item) => takeAnswers(steps, item), onOver });
    } catch (error) {
      onOver();
      throw error;
    }
  };
}

function takeAnswers(steps: readonly ObservedStep[], item: unknown): void {
  if (!isObject(item)) return;
  for (const answer of objectsIn(item["answers"]))
    if (typeof answer["step"] === "number") steps[answer["step"]]?.take(answer);
}

type Fields = Readonly<Record<string, unknown>>;

/** A step of a plan, with what its answers have reported so far. The types of fields were not checked. */
class ObservedStep {
  private readonly method: string;
  private readonly needs: readonly number[];
  private elements: number | undefined = undefined;
  private ended = 0;
  private failed = 0;
  private failure = "";
  private startUs = Number.POSITIVE_INFINITY;
  private endUs = 0;

  constructor({ method, each, references }: Fields) {
    this.method = textOf(method);
    const sources = [each, ...objectsIn(references).map(({ from }) => from)];
    const needs = objectsIn(sources).map(({ step }) => step);
    this.needs = [...new Set(needs.filter((step) => typeof step === "number"))];
  }

  take({ elements, failure, startedUs, tookUs }: Fields): void {
    if (typeof elements === "number") {
      this.elements = elements;
      return;
    }
    this.ended++;
    if (isObject(failure) && this.failed++ === 0)
      this.failure = `${textOf(failure["code"])}: ${textOf(failure["message"])}`;
    if (!isTime(startedUs) || !isTime(tookUs)) return;
    this.startUs = Math.min(this.startUs, startedUs);
    this.endUs = Math.max(this.endUs, startedUs + tookUs);
  }

  state(): BatchStep {
    const { method, needs, elements, startUs, endUs } = this;
    const isTimed = startUs < Number.POSITIVE_INFINITY;
    return {
      method,
      needs,
      elements,
      fromMs: isTimed ? startUs / 1000 : undefined,
      ms: isTimed ? (endUs - startUs) / 1000 : undefined,
      result: this.result(),
    };
  }

  private result(): string | undefined {
    const { elements, ended, failed, failure } = this;
    if (failed > 0) return elements === undefined ? failure : `${failed} of ${elements} failed, ${failure}`;
    return ended === (elements ?? 1) ? "ok" : undefined;
  }
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "?";
}

function objectsIn(list: unknown): readonly Fields[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}
