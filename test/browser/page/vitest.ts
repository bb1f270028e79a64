import { chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect";
import type { Outcome } from "./remote.js";

/** The part of vitest that the behaviours use, in a page: no module of vitest's runs outside of its own runner. */

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

/** Asks until the assertion holds, or for as long as vitest does. */
function poll(ask: () => unknown, { timeout = 1000, interval = 50 } = {}): unknown {
  const until = async (name: string, given: readonly unknown[]): Promise<void> => {
    const end = performance.now() + timeout;
    for (;;) {
      try {
        const assertion = chai.expect(await ask()) as unknown as Record<string, (...given: readonly unknown[]) => void>;
        assertion[name]?.(...given);
        return;
      } catch (error) {
        if (performance.now() >= end) throw error;
        await new Promise((resolve) => setTimeout(resolve, interval));
      }
    }
  };
  return new Proxy(
    {},
    {
      get:
        (_, name: string) =>
        (...given: readonly unknown[]) =>
          until(name, given),
    },
  );
}

export const expect = Object.assign(chai.expect, { poll });

/** A matcher stub: types are checked where the suite is compiled. */
const noMatter: unknown = new Proxy(() => {}, { get: () => noMatter, apply: () => noMatter });
export const expectTypeOf = (): unknown => noMatter;

class NotHere extends Error {}

/** Skips the test that calls it. */
export function notHere(reason: string): never {
  throw new NotHere(reason);
}

type Body = (...given: never[]) => unknown;
interface Suite {
  readonly path: readonly string[];
  readonly before: (() => unknown)[];
  readonly after: (() => unknown)[];
  readonly parent: Suite | undefined;
}
interface Test {
  readonly name: string;
  readonly suite: Suite;
  readonly body: () => unknown;
}

/** Titles of tests that take the server's session to be in their own process: it is made in the page for them. */
const OF_ONE_PROCESS = /C64 calls in progress finish, new ones are refused/;

/** Titles of tests that the page cannot pass, and why. */
const EXCEPTIONS: readonly (readonly [RegExp, string])[] = [
  [
    /in Firefox.* > by stream > (C10 |C24 unary after|C26 |C27 |C28 (duplex: aborted while a write|a handler)|C29 |C52 a request)/,
    "Firefox 153 tells the server of no `cancel`, and loses an answer that its sender stops reading for: `connect` uses lanes there",
  ],
  [/killed: a page in Firefox, WebTransport > by stream/, "`connect` uses lanes there"],
  [/in Firefox.* > C69 a stream that is stopped/, "Firefox 153 tells the server of no `cancel`"],
  [
    /(a page, (WebTransport|its smaller client|a stream for each call) > C62 by stream|in Firefox, WebTransport > (C62 by stream|by stream > C62))/,
    "what joins the two ends in the page holds bytes as well",
  ],
  [/a page, its smaller client.*C15 the server calls the client/, "a client session serves nothing"],
  [/a page, a stream for each call.*(C15 |: a call that calls back)/, "a stream session serves nothing"],
  [/a page, a stream for each call.*(C62 by lane|C65 the peer's)/, "the test is of lanes"],
];

/** The test that runs, as far as it matters to the sessions that it makes. */
export const running: { ofOneProcess: boolean } = { ofOneProcess: false };

const TEST_TIMEOUT_MS = 60_000;
const tests: Test[] = [];
let suite: Suite = { path: [], before: [], after: [], parent: undefined };

/** A value's place in a title: `%s`, `%i`, or `$name` of an object. */
function title(template: string, given: readonly unknown[]): string {
  const rest = [...given];
  const [first] = given;
  return template
    .replace(/%[sidj]/g, () => String(rest.shift()))
    .replace(/\$(\w+)/g, (_, name: string) => String((first as Record<string, unknown>)[name]));
}

function eachOf<Name extends (name: string, body: () => unknown) => void>(define: Name) {
  return (cases: readonly unknown[]) =>
    (template: string, ...rest: readonly unknown[]): void => {
      const body = rest.findLast((one) => typeof one === "function") as Body;
      for (const one of cases) {
        const given = Array.isArray(one) ? one : [one];
        define(title(template, given), () => body(...(given as never[])));
      }
    };
}

/** Context that a test gets after its case. */
const context = {
  skip(when: boolean): void {
    if (when) notHere("what it needs is not there");
  },
};

function forEachOf(define: typeof defineTest) {
  return (cases: readonly unknown[]) =>
    (template: string, body: Body): void => {
      for (const one of cases) define(title(template, [one]), () => body(...([one, context] as never[])));
    };
}

function defineSuite(name: string, body: () => unknown): void {
  const parent = suite;
  suite = { path: [...parent.path, name], before: [], after: [], parent };
  body();
  suite = parent;
}

function defineTest(title: string, ...rest: readonly unknown[]): void {
  const name = [...suite.path, title].join(" > ");
  const exception = EXCEPTIONS.find(([titles]) => titles.test(name))?.[1];
  // Options may come before or after the body.
  const body = rest.findLast((one) => typeof one === "function") as (given: typeof context) => unknown;
  tests.push({ name, suite, body: () => (exception === undefined ? body(context) : notHere(exception)) });
}

export const describe = Object.assign(defineSuite, { each: eachOf(defineSuite) });
export const it = Object.assign(defineTest, { each: eachOf(defineTest), for: forEachOf(defineTest) });
export const beforeEach = (run: () => unknown): void => void suite.before.push(run);
export const afterEach = (run: () => unknown): void => void suite.after.push(run);

function hooks(of: Suite | undefined, which: "before" | "after"): (() => unknown)[] {
  return of === undefined ? [] : [...hooks(of.parent, which), ...of[which]];
}

async function run({ name, suite, body }: Test): Promise<void> {
  running.ofOneProcess = OF_ONE_PROCESS.test(name);
  for (const hook of hooks(suite, "before")) await hook();
  let skipped = false;
  try {
    await body();
  } catch (error) {
    skipped = error instanceof NotHere;
    throw error;
  } finally {
    for (const hook of hooks(suite, "after").reverse()) {
      // One that was skipped may not have made what its hooks clear away.
      await Promise.resolve()
        .then(hook)
        .catch((error: unknown) => {
          if (!skipped) throw error;
        });
    }
  }
}

/** An error's message and stack: not every browser's stacks begin with the message. */
function told(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  return stack.startsWith(String(error)) ? stack : `${String(error)}\n${stack}`;
}

/** Runs what was defined, one test after the other. */
export async function runAll(): Promise<Outcome> {
  const outcome = { passed: [] as string[], skipped: [] as [string, string][], failed: [] as [string, string][] };
  for (const test of tests) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not over after ${TEST_TIMEOUT_MS} ms`)), TEST_TIMEOUT_MS);
    });
    try {
      await Promise.race([run(test), late]);
      outcome.passed.push(test.name);
    } catch (error) {
      if (error instanceof NotHere) outcome.skipped.push([test.name, error.message]);
      else outcome.failed.push([test.name, told(error)]);
    }
    clearTimeout(timer);
  }
  return outcome;
}
