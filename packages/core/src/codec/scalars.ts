import { plain } from "../msgpack/value.js";
import { type Check, checked } from "./check.js";
import { invalidType, refuse, type Shape } from "./shape.js";

type Kind = "string" | "number" | "bigint" | "boolean" | "date" | "bytes" | "null" | "undefined" | "never";

function ofType(
  kind: Kind,
  is: (value: unknown) => boolean,
  checks: readonly Check[] = [],
  expected: string = kind,
): Shape {
  const shape: Shape = {
    form: { kind, checks },
    run(payload, mode) {
      const converted = mode[kind as "number"];
      if (converted !== undefined) payload.value = converted(payload.value);
      return is(payload.value) ? payload : invalidType(payload, expected, mode);
    },
  };
  return checked(shape, checks);
}

export function string(...checks: Check[]): Shape {
  return ofType("string", (value) => typeof value === "string", checks);
}

/** Creates a run-time schema that accepts finite numbers. */
export function number(...checks: Check[]): Shape {
  return ofType("number", Number.isFinite, checks);
}

export function bigint(...checks: Check[]): Shape {
  return ofType("bigint", (value) => typeof value === "bigint", checks);
}

export function boolean(): Shape {
  return ofType("boolean", (value) => typeof value === "boolean");
}

/** Creates a run-time schema that accepts valid dates. */
export function date(...checks: Check[]): Shape {
  return ofType("date", (value) => value instanceof Date && !Number.isNaN(value.getTime()), checks);
}

export function bytes(): Shape {
  return ofType("bytes", (value) => value instanceof Uint8Array, undefined, "Uint8Array");
}

/** Creates a run-time schema that accepts only null. */
export function nil(): Shape {
  return ofType("null", (value) => value === null);
}

/** Creates a run-time schema that accepts only undefined. */
export function nothing(): Shape {
  return ofType("undefined", (value) => value === undefined);
}

export function never(): Shape {
  return ofType("never", () => false);
}

/** Creates a run-time schema that accepts any value unchanged. */
export function any(): Shape {
  return {
    form: { kind: "any" },
    run(payload, mode) {
      if (mode.isWire === true) payload.value = plain(payload.value);
      return payload;
    },
  };
}

/** Creates a run-time schema that accepts only `values`. */
export function literal(...values: unknown[]): Shape {
  return {
    form: { kind: "literal", values },
    run(payload, mode) {
      let { value } = payload;
      if (mode.literal !== undefined && !values.includes(value)) value = mode.literal(value, values);
      if (!values.includes(value)) {
        const expected = `expected ${values.length > 1 ? "one of " : ""}${values.join(", ")}`;
        return refuse(payload, "invalid_value", expected, { values });
      }
      payload.value = value;
      return payload;
    },
  };
}

/**
 * Creates a run-time schema that accepts only NaN. Other values have the issue `invalid_type`, as in zod, not
 * `invalid_value` as with a literal.
 */
export function nan(): Shape {
  const values = [Number.NaN];
  return {
    form: { kind: "literal", values },
    run(payload, mode) {
      payload.value = mode.literal?.(payload.value, values) ?? payload.value;
      return Number.isNaN(payload.value) ? payload : invalidType(payload, "nan", { says: { nan: "NaN" } });
    },
  };
}

/**
 * Creates a run-time schema that accepts texts which match a template literal.
 *
 * @param longest maximum characters of a text that is tested with `regex`; longer texts are refused
 */
export function template(regex: RegExp, longest: number = Infinity): Shape {
  const text = string();
  return {
    form: { kind: "template", regex },
    run(payload, mode) {
      text.run(payload, mode);
      if (payload.issues.length > 0) return payload;
      const { length } = payload.value as string;
      if (length <= longest && regex.test(payload.value as string)) return payload;
      const reason = length > longest ? `: it has more than ${longest} characters, too many to be matched` : "";
      return refuse(payload, "invalid_format", `invalid template literal${reason}`, { format: "template_literal" });
    },
  };
}
