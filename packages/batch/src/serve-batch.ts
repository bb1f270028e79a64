import { json, RpcError } from "@quicrpc/core";
import { type AnyMethod, type CallContext, InnerCalls, type MessageCodec } from "@quicrpc/core/generated";
import { CALL_BYTES } from "@quicrpc/core/internal";
import type { Answer, Answers, Failure, Plan, Source, Step } from "./generated/batch.js";
import { type BatchLimits, encodeMessage, encodingCost, exceeded } from "./limits.js";
import { CallTimes } from "./call-times.js";
import { hasMember, memberOf, type Path, pathText, valueAt } from "./path.js";

const VERSION = 1;
/** Maximum bytes of the answers of an item, if it has several. */
const ITEM_BYTES = 65_536;
/** Estimated bytes of an answer without its message, its failure's text and details. */
const ANSWER_BYTES = 96;
const NOTHING = new Uint8Array(0);

/**
 * Yields the answers of a plan as its calls end.
 *
 * @param timings whether a plan may ask for the times of calls
 */
export async function* serveBatch(
  plan: Plan,
  limits: Required<BatchLimits>,
  context: CallContext,
  timings: boolean,
): AsyncGenerator<Answers> {
  const calls = new InnerCalls(context, limits);
  const times = timings && plan.timed === true ? new CallTimes() : undefined;
  try {
    yield* new ServedBatch(plan, limits, calls, times).answers();
  } finally {
    calls.end();
  }
}

/** A step of a plan that was checked. */
interface CheckedStep {
  readonly step: Step;
  readonly method: AnyMethod;
  /** Indexes of the steps whose responses it takes. */
  readonly needs: ReadonlySet<number>;
}

/** One batch at the server. Its constructor checks the whole plan, before anything runs. */
class ServedBatch {
  private readonly calls: InnerCalls;
  private readonly limits: Required<BatchLimits>;
  private readonly steps: readonly CheckedStep[];
  /** Steps whose responses other steps take. */
  private readonly needed: Set<number> = new Set();
  private readonly results: Promise<void>[] = [];
  /** Responses of steps in `needed` that are over. */
  private readonly values: unknown[] = [];
  private readonly templates: Map<Step, unknown> = new Map();
  private readonly ready: Answer[] = [];
  /** Undefined if answers have no times. */
  private readonly times: CallTimes | undefined;
  private wake: (() => void) | undefined = undefined;
  private running = 0;
  private callCount = 0;
  private bytes = 0;

  constructor(
    { version, steps }: Plan,
    limits: Required<BatchLimits>,
    calls: InnerCalls,
    times: CallTimes | undefined,
  ) {
    if (version !== VERSION)
      throw new RpcError("unimplemented", `plans of version ${version} are not known here: the version is ${VERSION}`);
    const { maxSteps } = limits;
    if (steps.length > maxSteps) throw exceeded("maxSteps", maxSteps, `the batch has ${steps.length} steps`);
    this.limits = limits;
    this.calls = calls;
    this.times = times;
    this.steps = steps.map((step, index) => this.check(step, index));
    this.checkDepth();
    this.countCalls(steps.filter(({ each }) => each === undefined).length);
    this.spend(steps.reduce((sum, step) => sum + inputOf(step).length, 0));
  }

  async *answers(): AsyncGenerator<Answers> {
    for (const index of this.steps.keys()) {
      const result = this.run(index);
      result.catch(() => {});
      this.results.push(result);
    }
    for (;;) {
      while (this.ready.length > 0) yield { answers: this.takeReady() };
      if (this.running === 0) return;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  private check(step: Step, index: number): CheckedStep {
    const { references = [], each, message, template } = step;
    const invalid = (text: string): RpcError => new RpcError("invalid_argument", `step ${index}: ${text}`);
    const method = this.calls.method(step.method);
    const sources = references.map(({ from }) => from);
    if (each !== undefined && each.step === undefined) throw invalid("each takes no element");
    if (message !== undefined && (template !== undefined || references.length > 0))
      throw invalid("an encoded input has no references");
    if (method.input === undefined && (template !== undefined || references.length > 0))
      throw invalid(`${step.method} has no input`);
    for (const { at } of references)
      if (references.filter((other) => startsWith(other.at, at)).length > 1) throw invalid("references overlap");
    const needs = new Set<number>();
    for (const source of each === undefined ? sources : [each, ...sources]) {
      if (source.step === undefined && each === undefined) throw invalid("only a step with each has elements");
      if (source.step === undefined) continue;
      if (source.step >= index) throw invalid(`it takes the response of step ${source.step}, which is not earlier`);
      needs.add(source.step);
      this.needed.add(source.step);
    }
    return { step, method, needs };
  }

  private checkDepth(): void {
    const { maxDepth } = this.limits;
    const depths: number[] = [];
    for (const { needs } of this.steps) {
      let depth = 1;
      for (const need of needs) depth = Math.max(depth, 1 + (depths[need] as number));
      if (depth > maxDepth) throw exceeded("maxDepth", maxDepth, `${depth} steps wait for one another`);
      depths.push(depth);
    }
  }

  private countCalls(calls: number): void {
    this.callCount += calls;
    const { maxCalls } = this.limits;
    if (this.callCount > maxCalls) throw exceeded("maxCalls", maxCalls, `the batch has ${this.callCount} calls`);
    // The batch keeps the results of its calls until it ends.
    this.calls.hold(calls * CALL_BYTES);
  }

  private spend(bytes: number): void {
    this.bytes += bytes;
    const { maxBytes } = this.limits;
    if (this.bytes > maxBytes) throw exceeded("maxBytes", maxBytes, `the batch has ${this.bytes} bytes`);
  }

  /** Counts bytes that the batch holds until its end. */
  private charge(bytes: number): void {
    this.spend(bytes);
    this.calls.hold(bytes);
  }

  /** Returns the first of the answers that are ready: several of at most `ITEM_BYTES`, or one of any size. */
  private takeReady(): Answer[] {
    const max = Math.min(ITEM_BYTES, this.calls.maxMessageBytes);
    let bytes = 0;
    const end = this.ready.findIndex((answer, index) => (bytes += bytesOf(answer)) > max && index > 0);
    return this.ready.splice(0, end === -1 ? this.ready.length : end);
  }

  private answer(answer: Answer): void {
    this.ready.push(this.times?.addTo(answer) ?? answer);
    this.wake?.();
  }

  /** Runs a step when the steps that it needs are over. */
  private async run(index: number): Promise<void> {
    const { step, method, needs } = this.steps[index] as CheckedStep;
    this.running++;
    try {
      for (const need of needs) await this.results[need]?.catch((error) => this.refuseAfter(step, need, error));
      this.values[index] = await (step.each === undefined
        ? this.call(index, undefined, undefined)
        : this.runEach(index, step, this.valueOf(step.each, undefined)));
    } catch (error) {
      if (!(error instanceof ElementFailed)) this.answer({ step: index, failure: this.failureOf(method, error) });
      throw error;
    } finally {
      this.running--;
      this.wake?.();
    }
  }

  private async runEach(index: number, step: Step, list: unknown): Promise<unknown[]> {
    const { maxElements } = this.limits;
    const place = this.sourceText(step.each as Source);
    if (!Array.isArray(list)) throw new RpcError("failed_precondition", `${place} is not a list`);
    const { length } = list;
    if (length > maxElements) throw exceeded("maxElements", maxElements, `${place} has ${length} elements`);
    this.countCalls(length);
    this.spend(inputOf(step).length * length);
    this.answer({ step: index, elements: length });
    const { method } = this.steps[index] as CheckedStep;
    const responses = await Promise.allSettled(
      list.map(async (item: unknown, element) => {
        try {
          return await this.call(index, element, item);
        } catch (error) {
          this.answer({ step: index, element, failure: this.failureOf(method, error) });
          throw new ElementFailed(RpcError.from(error));
        }
      }),
    );
    return responses.map((response) => {
      if (response.status === "rejected") throw response.reason;
      return response.value;
    });
  }

  private async call(index: number, element: number | undefined, item: unknown): Promise<unknown> {
    const { step, method } = this.steps[index] as CheckedStep;
    const { input } = method;
    const encode = (): Uint8Array => {
      this.times?.start(index, element);
      return step.message ?? (input === undefined ? NOTHING : this.filled(step, input, item));
    };
    const message = await this.calls.call(step.method, encode);
    this.charge(message.length);
    const { output } = method;
    const value = this.needed.has(index) && output !== undefined ? this.calls.decode(output, message) : undefined;
    if (step.silent !== true)
      this.answer(element === undefined ? { step: index, message } : { step: index, element, message });
    else if (this.times !== undefined) this.answer({ step: index, ...(element !== undefined && { element }) });
    return value;
  }

  /**
   * Returns the encoded input of a step after its references were replaced. Its cost is counted before it is encoded,
   * because an input that does not fit the schema takes as long as one that does.
   */
  private filled(step: Step, codec: MessageCodec<unknown>, item: unknown): Uint8Array {
    const { template, references = [] } = step;
    const { maxBytes } = this.limits;
    this.spend(0);
    // Decoded once, because each element fills the same places.
    if (!this.templates.has(step)) this.templates.set(step, template && this.calls.decode(json, template));
    let input = this.templates.get(step);
    for (const { at, from } of references) {
      const value = this.valueOf(from, item);
      if (at.length === 0) input = value;
      else put(input, at, value);
    }
    const cost = encodingCost(input, maxBytes - this.bytes);
    this.spend(cost);
    const message = encodeMessage((out) => this.calls.encode(codec, input, out), maxBytes - this.bytes + cost);
    this.spend(Math.max(0, message.length - cost));
    return message;
  }

  /** Returns the failure to send. Its bytes count like those of a response. Omits details that are too large. */
  private failureOf(method: AnyMethod, thrown: unknown): Failure {
    const { code, message, head, details } = this.calls.fault(method, RpcError.from(thrown, "internal"));
    const reason = head?.reason;
    const hasRoom = details !== undefined && details.length <= this.calls.maxMessageBytes - textBytes(message);
    try {
      this.charge(message.length + (hasRoom ? details.length : 0));
    } catch (error) {
      const { code: limitCode, message: limitText } = RpcError.from(error);
      return { code: limitCode, message: limitText };
    }
    return { code, message, ...(reason !== undefined && { reason }), ...(hasRoom && { details }) };
  }

  private valueOf(source: Source, item: unknown): unknown {
    const { step, path } = source;
    const root = step === undefined ? item : this.values[step];
    return valueAt(root, path, (place, key) => {
      const text = this.sourceText({ ...source, path: [...place] });
      return new RpcError("failed_precondition", `${text} has no ${pathText([key])}`);
    });
  }

  private refuseAfter(step: Step, need: number, error: unknown): never {
    const { references = [], each } = step;
    const { at, from } = references.find((reference) => reference.from.step === need) ?? {};
    const part = from === undefined || at === undefined ? "each" : pathText(at) || "input";
    const { code, message } = error instanceof ElementFailed ? error.first : RpcError.from(error);
    const source = this.sourceText(from ?? (each as Source));
    throw new RpcError(
      "failed_precondition",
      `did not run: its ${part} is ${source}, which failed (${code}: ${message})`,
    );
  }

  private sourceText({ step, path }: Source): string {
    const text = pathText(path) || "the value";
    return step === undefined ? `${text} of the element` : `${text} of step ${step} (${this.steps[step]?.step.method})`;
  }
}

/** The failure of a call for an element, which was answered. */
class ElementFailed extends Error {
  readonly first: RpcError;

  constructor(first: RpcError) {
    super(first.message);
    this.first = first;
  }
}

/** Returns the encoded input of a step, or its template. */
function inputOf({ message, template }: Step): Uint8Array {
  return message ?? template ?? NOTHING;
}

function startsWith(path: Path, start: Path): boolean {
  return start.every((key, index) => key === path[index]);
}

/** Sets the place `at` of an input, which exists in its template. */
function put(input: unknown, at: Path, value: unknown): void {
  const container = at.slice(0, -1).reduce(memberOf, input);
  const last = at.at(-1) as string | number;
  if (!hasMember(container, last))
    throw new RpcError("invalid_argument", `the template has no place ${pathText(at)} for a reference`);
  container[last] = value;
}

function bytesOf({ message, failure }: Answer): number {
  const text = failure === undefined ? 0 : textBytes(failure.message);
  return ANSWER_BYTES + (message?.length ?? 0) + text + (failure?.details?.length ?? 0);
}

/** Returns the maximum number of bytes of a text in UTF-8. */
function textBytes(text: string): number {
  return text.length * 3;
}
