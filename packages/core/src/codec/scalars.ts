import { plain, safeNumber } from "../msgpack/value.js";
import { type Check, checked } from "./check.js";
import { invalidType, Mode, refuse, type Shape } from "./shape.js";

function ofType(expected: string, is: (value: unknown) => boolean): Shape {
  return { run: (payload) => (is(payload.value) ? payload : invalidType(payload, expected)) };
}

export function string(...checks: Check[]): Shape {
  return checked(
    ofType("string", (value) => typeof value === "string"),
    checks,
  );
}

/** A finite number. */
export function number(...checks: Check[]): Shape {
  const shape: Shape = {
    run(payload, mode) {
      if (mode === Mode.Wire && typeof payload.value === "bigint") payload.value = safeNumber(payload.value);
      return Number.isFinite(payload.value) ? payload : invalidType(payload, "number");
    },
  };
  return checked(shape, checks);
}

export function bigint(...checks: Check[]): Shape {
  return checked(
    ofType("bigint", (value) => typeof value === "bigint"),
    checks,
  );
}

export function boolean(): Shape {
  return ofType("boolean", (value) => typeof value === "boolean");
}

/** A valid date. */
export function date(...checks: Check[]): Shape {
  return checked(
    ofType("date", (value) => value instanceof Date && !Number.isNaN(value.getTime())),
    checks,
  );
}

export function bytes(): Shape {
  return ofType("Uint8Array", (value) => value instanceof Uint8Array);
}

/** Null. */
export function nil(): Shape {
  return ofType("null", (value) => value === null);
}

/** Undefined. */
export function nothing(): Shape {
  return ofType("undefined", (value) => value === undefined);
}

export function never(): Shape {
  return ofType("never", () => false);
}

/** Any value, as it is. */
export function any(): Shape {
  return {
    run(payload, mode) {
      if (mode !== Mode.Given) payload.value = plain(payload.value);
      return payload;
    },
  };
}

/** One of `values`. */
export function literal(...values: unknown[]): Shape {
  return {
    run(payload, mode) {
      let { value } = payload;
      if (mode === Mode.Wire && typeof value === "bigint" && !values.includes(value)) value = safeNumber(value);
      if (!values.includes(value)) {
        return refuse(payload, "invalid_value", `expected ${values.length > 1 ? "one of " : ""}${values.join(", ")}`);
      }
      payload.value = value;
      return payload;
    },
  };
}

/** Text of a template literal. */
export function template(regex: RegExp): Shape {
  const text = string();
  return {
    run(payload, mode) {
      text.run(payload, mode);
      if (payload.issues.length > 0 || regex.test(payload.value as string)) return payload;
      return refuse(payload, "invalid_format", "invalid template literal");
    },
  };
}
