import { count } from "../msgpack/reader.js";
import { runOnce } from "./memo.js";
import { weightOf } from "./nodes.js";
import type { Refused } from "./form.js";
import { fits, isFull, Mode, parsedAndSent, refuse, run, type Shape, whole } from "./shape.js";

export function optional(inner: Shape): Shape {
  const defaulted = inner.optin === "defaulted";
  return {
    form: { kind: "optional", inner },
    optin: defaulted ? "defaulted" : "optional",
    optout: "optional",
    run(payload, mode) {
      if (payload.value !== undefined) return inner.run(payload, mode);
      if (!defaulted) return payload;
      const result = run(inner, undefined, mode);
      payload.value = result.issues.length > 0 ? undefined : result.value;
      return payload;
    },
  };
}

/** Creates a run-time schema for a property that may be absent, but not undefined. */
export function exactOptional(inner: Shape): Shape {
  const optin = inner.optin === "defaulted" ? "defaulted" : "optional";
  return { ...inner, form: { kind: "optional", inner }, optin, optout: "optional" };
}

export function nullable(inner: Shape): Shape {
  return {
    ...inner,
    form: { kind: "nullable", inner },
    run: (payload, mode) => (payload.value === null ? payload : inner.run(payload, mode)),
  };
}

/**
 * Returns `value`, which replaces an absent value. Counts it as `values` values toward the message's decode limit,
 * because the message does not contain it.
 */
export function absent<T>(value: T, values: number): T {
  count(values);
  return value;
}

function weighed<T>(value: T): T {
  return absent(value, weightOf(value));
}

/** Creates a run-time schema that returns `value()` if the input is absent or the result of `inner` is undefined. */
export function withDefault(inner: Shape, value: () => unknown): Shape {
  return {
    form: { kind: "default", inner, value },
    optin: "defaulted",
    run(payload, mode) {
      const result = payload.value === undefined ? payload : inner.run(payload, mode);
      if (result.value === undefined && mode.isSent !== true) result.value = weighed(value());
      return result;
    },
  };
}

/** Creates a run-time schema that parses `value()` with `inner` if the input is absent. */
export function prefault(inner: Shape, value: () => unknown): Shape {
  return {
    form: { kind: "prefault", inner, value },
    optin: "defaulted",
    run(payload, mode) {
      const isAbsent = payload.value === undefined;
      if (isAbsent) payload.value = weighed(value());
      const result = inner.run(payload, mode);
      if (isAbsent && mode.isSent === true) result.value = undefined;
      return result;
    },
  };
}

/** Creates a run-time schema that returns `value(refused)` if the input does not match `inner`. */
export function caught(inner: Shape, value: (refused: Refused) => unknown): Shape {
  return {
    form: { kind: "caught", inner, value },
    optin: inner.optin === "defaulted" ? "defaulted" : "optional",
    optout: inner.optout,
    run(payload, mode) {
      const input = payload.value;
      const result = run(inner, input, mode);
      payload.value = result.value;
      if (result.issues.length === 0) return payload;
      const caughtValue = weighed(value({ input, ...result }));
      if (mode.isSent !== true) payload.value = caughtValue;
      else if (isFull(result) || fits(inner, result.value)) payload.value = whole(input);
      return payload;
    },
  };
}

export function nonOptional(inner: Shape): Shape {
  return {
    form: { kind: "nonOptional", inner },
    run(payload, mode) {
      const result = inner.run(payload, mode);
      if (result.issues.length > 0 || result.value !== undefined) return result;
      return refuse(result, "invalid_type", "required, but missing", { expected: "nonoptional" });
    },
  };
}

/** Creates a run-time schema that freezes the result of `inner`. */
export function frozen(inner: Shape): Shape {
  return {
    ...inner,
    form: { kind: "frozen", inner },
    run(payload, mode) {
      const result = inner.run(payload, mode);
      if (mode.isSent !== true) result.value = freeze(result.value);
      return result;
    },
  };
}

/** Freezes `value` unless it is bytes, which cannot be frozen, and returns it. */
export function freeze<T>(value: T): T {
  return ArrayBuffer.isView(value) ? value : Object.freeze(value);
}

/**
 * Creates a run-time schema whose definition `inner` returns later, because it is not declared yet or contains itself.
 * `optin` and `optout` state whether it accepts an absent value.
 */
export function lazy(inner: () => Shape, optin?: Shape["optin"], optout?: Shape["optout"]): Shape {
  return { form: { kind: "lazy", inner }, optin, optout, run: (payload, mode) => runOnce(inner(), payload, mode) };
}

/**
 * Creates a run-time schema that calls `make` when it is first used. A bundler can drop `make` if the schema is never
 * used.
 */
export function later(make: () => Shape, optin?: Shape["optin"], optout?: Shape["optout"]): Shape {
  let made: Shape | undefined;
  const inner = (): Shape => (made ??= make());
  return { form: { kind: "lazy", inner }, optin, optout, run: (payload, mode) => inner().run(payload, mode) };
}

/** Creates a run-time schema that parses a value with `from`, and the result with `to`. */
export function pipe(from: Shape, to: Shape): Shape {
  return {
    form: { kind: "pipe", from, to },
    optin: from.optin,
    optout: to.optout,
    run(payload, mode) {
      const { value } = payload;
      if (mode.isSent === true) return parsedAndSent(this, payload, () => run(from, value, mode).value);
      const result = from.run(payload, mode);
      if (isFull(result) || result.issues.some((issue) => issue.code !== "unrecognized_keys")) {
        result.aborted = true;
        return result;
      }
      // The result of `from` is no longer in wire form.
      return to.run({ value: result.value, issues: result.issues }, Mode.Given);
    },
  };
}
