import { authorize, createLocalCaller, type Interceptor, json } from "@quicrpc/core";
import { encodeMessage } from "../src/limits.js";
import { createBatches, type BatchLimits } from "@quicrpc/batch";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collect, failure } from "../../../test/behaviour/tools.js";
import {
  type Answer,
  createBatchClient,
  type Path,
  type Plan,
  type Reference,
  type Step,
} from "../src/generated/batch.js";
import { hasMember, memberOf } from "../src/path.js";
import { type Seen, screenRouters } from "./screen.js";

const seen: Seen = { calls: [], aborted: [], running: 0, mostRunning: 0 };

async function run(
  steps: Step[],
  limits: BatchLimits = {},
  more: Partial<Plan> = {},
  interceptors: Interceptor[] = [],
): Promise<Answer[]> {
  seen.calls.length = 0;
  seen.mostRunning = 0;
  const caller = createLocalCaller([...screenRouters(seen), createBatches(limits)], { interceptors });
  const items = await collect(createBatchClient(caller).run({ version: 1, steps, ...more }));
  return items.flatMap(({ answers }) => answers);
}

function template(value: unknown): Uint8Array {
  return encodeMessage((out) => json.encode(value, out));
}

/** Returns a step whose whole input is another value. */
function echo(value: unknown, references?: Reference[]): Step {
  return { method: "screen.v1.Users/echo", template: template(value), ...(references && { references }) };
}

const from = (step: number | undefined, path: Path = [], at: Path = []): Reference => ({ at, from: { step, path } });
const failures = (answers: readonly Answer[]): (string | undefined)[] =>
  answers.map(({ failure: error }) => error?.code);

describe("a plan that is refused before anything runs", () => {
  const list = echo(Array.from({ length: 10 }, (_, i) => i));
  const cases: [string, Step[], string, string, BatchLimits?][] = [
    ["a step that does not exist", [echo(null, [from(7)])], "invalid_argument", "step 7, which is not earlier"],
    ["a step that takes its own response", [echo(null, [from(0)])], "invalid_argument", "which is not earlier"],
    ["a cycle", [echo(null, [from(1)]), echo(null, [from(0)])], "invalid_argument", "which is not earlier"],
    ["a cycle by each", [{ ...list, each: { step: 0, path: [] } }], "invalid_argument", "which is not earlier"],
    ["an element without each", [echo(null, [from(undefined)])], "invalid_argument", "only a step with each"],
    ["each for an element", [{ ...list, each: { path: [] } }], "invalid_argument", "each takes no element"],
    ["an unknown method", [{ method: "screen.v1.Users/get2" }], "unimplemented", "screen.v1.Users/get2 is not served"],
    ["an inherited name", [{ method: "__proto__" }], "unimplemented", "__proto__ is not served"],
    ["a stream", [{ method: "screen.v1.Users/watch" }], "unimplemented", "is server_stream"],
    ["itself", [{ method: "quicrpc.v1.Batch/run" }], "unimplemented", "is server_stream"],
    [
      "a reference into an encoded input",
      [{ ...echo(1, [from(0)]), message: new Uint8Array(1) }],
      "invalid_argument",
      "no references",
    ],
    [
      "input of a method without",
      [{ method: "screen.v1.Users/forget", template: template(1) }],
      "invalid_argument",
      "has no input",
    ],
    [
      "too many steps",
      Array.from({ length: 33 }, () => list),
      "resource_exhausted",
      "maxSteps of the server's batches is 32",
    ],
    [
      "too many calls",
      [list, list, list],
      "resource_exhausted",
      "maxCalls of the server's batches is 2",
      { maxCalls: 2 },
    ],
    [
      "too long a chain",
      [list, ...Array.from({ length: 8 }, (_, i) => echo(null, [from(i)]))],
      "resource_exhausted",
      "maxDepth",
    ],
    [
      "too many bytes",
      [echo("x".repeat(600)), echo("x".repeat(600))],
      "resource_exhausted",
      "maxBytes",
      { maxBytes: 1000 },
    ],
    [
      "too long a path",
      [
        list,
        echo(null, [
          from(
            0,
            Array.from({ length: 17 }, () => 0),
          ),
        ]),
      ],
      "invalid_argument",
      "path",
    ],
    ["too long a name", [list, echo(null, [from(0, ["x".repeat(129)])])], "invalid_argument", "path"],
    ["a negative index", [list, echo(null, [from(0, [-1])])], "invalid_argument", "path"],
    [
      "too many references",
      [
        list,
        echo(
          null,
          Array.from({ length: 65 }, () => from(0)),
        ),
      ],
      "invalid_argument",
      "references",
    ],
    [
      "references that overlap",
      [list, echo({ a: null }, [from(0, [], ["a"]), from(0, [], ["a", "b"])])],
      "invalid_argument",
      "references overlap",
    ],
    ["no steps", [], "invalid_argument", "steps"],
  ];
  it.each(cases)("%s", async (_, steps, code, text, limits) => {
    const error = await failure(run(steps, limits));
    expect(error).toMatchObject({ code });
    expect(error.message).toContain(text);
    expect(seen.calls).toEqual([]);
  });

  it("another version", async () => {
    const error = await failure(run([list], {}, { version: 2 }));
    expect(error).toMatchObject({
      code: "unimplemented",
      message: "plans of version 2 are not known here: the version is 1",
    });
  });
});

describe("a plan that costs more when it runs", () => {
  const numbers = (length: number): Step => echo(Array.from({ length }, (_, i) => i));
  const each = (step: number, path: Path = []): Step => ({ ...echo(null, [from(step)]), each: { step, path } });

  it("the elements of one step are counted before any of its calls", async () => {
    const answers = await run([numbers(101), { ...echo(null, [from(undefined)]), each: { step: 0, path: [] } }]);
    expect(answers.at(-1)?.failure).toMatchObject({
      code: "resource_exhausted",
      message:
        "the value of step 0 (screen.v1.Users/echo) has 101 elements, and maxElements of the server's batches is 100",
    });
    expect(answers).toHaveLength(2);
  });

  it("each for the responses of each grows exponentially until maxCalls or maxBytes", async () => {
    // Every response contains the whole list of the step before, for each of its elements.
    const answers = await run([numbers(10), ...[0, 1, 2, 3, 4, 5].map((step) => each(step))]);
    expect(answers.filter(({ message }) => message !== undefined).length).toBeLessThanOrEqual(61);
    const bytes = answers.reduce((sum, { message }) => sum + (message?.length ?? 0), 0);
    expect(bytes).toBeLessThanOrEqual(1_048_576);
    expect(failures(answers)).toContain("resource_exhausted");
  });

  it("calls of all elements together", async () => {
    const answers = await run([numbers(100), each(0), each(0), each(0)], { maxBytes: 2 ** 24 });
    expect(answers.filter(({ message }) => message !== undefined)).toHaveLength(201);
    expect(answers.find(({ failure: error }) => error !== undefined)?.failure).toMatchObject({
      code: "resource_exhausted",
      message: "the batch has 301 calls, and maxCalls of the server's batches is 250",
    });
  });

  it("one input with many copies of a response", async () => {
    const copies = Array.from({ length: 64 }, (_, i) => from(0, [], [i]));
    const answers = await run([
      echo("x".repeat(100_000)),
      echo(
        Array.from({ length: 64 }, () => null),
        copies,
      ),
    ]);
    expect(failures(answers)).toEqual([undefined, "resource_exhausted"]);
  });

  it("a template for each element", async () => {
    const large = {
      ...echo({ pad: "x".repeat(20_000), hole: null }, [from(undefined, [], ["hole"])]),
      each: { step: 0, path: [] },
    };
    const answers = await run([numbers(100), large]);
    expect(failures(answers)).toEqual([undefined, "resource_exhausted"]);
  });

  it("at most maxConcurrent calls run at once", async () => {
    const ids = echo(Array.from({ length: 50 }, (_, i) => `u${i}`));
    const get: Step = {
      method: "screen.v1.Users/get",
      template: template({ id: null }),
      references: [from(undefined, [], ["id"])],
      each: { step: 0, path: [] },
    };
    await run([ids, get], { maxConcurrent: 5 });
    expect(seen.calls).toHaveLength(50);
    expect(seen.mostRunning).toBe(5);
  });
});

describe("references", () => {
  const value = echo({ own: { deep: [1, { x: 2 }] } });

  it.each([
    [["__proto__"]],
    [["constructor"]],
    [["toString"]],
    [["own", "hasOwnProperty"]],
    [["own", "deep", "length"]],
    [["own", "deep", "push"]],
    [["own", "deep", "0"]],
    [["own", "deep", 2]],
    [["own", 0]],
  ])("do not reach %j", async (path) => {
    const [, , answer] = await run([value, echo("forget"), echo(null, [from(0, path)])]);
    const undefinedValue = await run([echo(undefined)]);
    expect(answer?.message).toEqual(undefinedValue[0]?.message);
  });

  it.each([
    [["__proto__", "constructor"]],
    [["constructor", "prototype"]],
    [["missing", "x"]],
    [["own", "deep", 0, "x"]],
  ])("%j names a part of something that has none", async (path) => {
    const answers = await run([value, echo(null, [from(0, path)])]);
    expect(answers.at(-1)?.failure).toMatchObject({ code: "failed_precondition" });
    expect(answers.at(-1)?.failure?.message).toContain("of step 0 (screen.v1.Users/echo) has no ");
  });

  it.each([
    [["__proto__", "polluted"]],
    [["__proto__"]],
    [["constructor", "prototype", "polluted"]],
    [["no"]],
    [["list", 1]],
    [["list", "length"]],
  ])("are not put at %j", async (at) => {
    const answers = await run([value, echo({ list: [null], constructor: null }, [from(0, ["own"], at)])]);
    expect(answers.at(-1)?.failure).toMatchObject({ code: "invalid_argument" });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("a template that is not in the codec `json`", async () => {
    for (const text of ["{", '{"$bigint":"x"}', '{"$reference":[0]}', "[".repeat(100_000)]) {
      const answers = await run([{ method: "screen.v1.Users/echo", template: new TextEncoder().encode(text) }]);
      expect(failures(answers)).toEqual(["invalid_argument"]);
    }
  });

  it("any path reads own members only", () => {
    const key = fc.oneof(fc.string(), fc.nat(5), fc.constantFrom("__proto__", "constructor", "length", "at"));
    fc.assert(
      fc.property(fc.anything(), fc.array(key), (root, path) => {
        let current: unknown = root;
        for (const step of path) {
          const member = memberOf(current, step);
          if (member !== undefined) expect(Object.hasOwn(current as object, step)).toBe(true);
          expect(hasMember(member, "__proto__")).toBe(false);
          current = member;
        }
      }),
    );
  });
});

describe("any plan", () => {
  const path = fc.array(fc.oneof(fc.constantFrom("a", "b", "__proto__", "length"), fc.nat(3)), { maxLength: 4 });
  const source = fc.record({ step: fc.option(fc.nat(4), { nil: undefined }), path });
  const step: fc.Arbitrary<Step> = fc.record(
    {
      method: fc.constantFrom(
        "screen.v1.Users/echo",
        "screen.v1.Users/get",
        "screen.v1.Posts/list",
        "screen.v1.Users/forget",
      ),
      message: fc.option(fc.uint8Array({ maxLength: 8 }), { nil: undefined, freq: 1 }),
      template: fc.option(
        fc.json({ maxDepth: 3 }).map((text) => new TextEncoder().encode(text)),
        { nil: undefined },
      ),
      references: fc.option(fc.array(fc.record({ at: path, from: source }), { maxLength: 3 }), { nil: undefined }),
      each: fc.option(source, { nil: undefined, freq: 4 }),
      silent: fc.option(fc.boolean(), { nil: undefined }),
    },
    { requiredKeys: ["method"] },
  );

  it("is refused as a whole, or answers each of its steps", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
        let answers: Answer[];
        try {
          answers = await run(steps, { maxCalls: 20 });
        } catch (error) {
          expect(error).toMatchObject({
            code: expect.stringMatching(/invalid_argument|resource_exhausted|unimplemented/),
          });
          return;
        }
        for (const [index, { silent }] of steps.entries()) {
          const own = answers.filter((answer) => answer.step === index);
          const whole = own.filter(({ element }) => element === undefined);
          const elements = whole[0]?.elements;
          if (elements !== undefined) expect(own.length - 1).toBeLessThanOrEqual(elements);
          else if (silent !== true) expect(whole).toHaveLength(1);
          for (const { failure: error } of own) expect(error?.code).not.toBe("internal");
        }
      }),
      { numRuns: 300 },
    );
  });
});

it("methods without permission are refused one by one, and count as calls", async () => {
  const guard = authorize({ scopesOf: () => [] });
  const secret: Step = { method: "screen.v1.Users/secret" };
  const answers = await run([secret, echo(null, [from(0)]), echo(1)], {}, {}, [guard]);
  const codes = answers.toSorted((a, b) => a.step - b.step).map(({ failure: error }) => error?.code);
  expect(codes).toEqual(["permission_denied", "failed_precondition", undefined]);
});
