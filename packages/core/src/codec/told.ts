import type { Check } from "./check.js";
import type { Shape, ShapeIssue } from "./shape.js";
import { textOf } from "./zod-config.js";

/** A custom error message of a zod schema: a text, or a function that returns the text for an issue. */
type Told = string | ((issue: object) => string | undefined);

/** The parts of zod's internals that custom error messages depend on. */
interface Internals {
  readonly _zod: {
    readonly def: { readonly error?: (issue: object) => unknown; readonly checks?: readonly Internals[] };
    readonly traits: ReadonlySet<string>;
  };
}

/** Returns a copy of `check` whose issue has a custom message. */
export function told(check: Check, message: Told): Check {
  return {
    ...check,
    test(value) {
      const issue = check.test(value);
      return issue && retold(issue, message, value);
    },
  };
}

/**
 * Returns a copy of `shape` whose issues about the value as a whole have a custom message. Issues of checks and of
 * nested values keep theirs.
 *
 * @param tag key by which a union distinguishes its options; an issue at this path is about the value as a whole
 */
export function toldShape(shape: Shape, message: Told, tag?: string): Shape {
  const isOwn = ({ code, path, continue: goesOn }: ShapeIssue): boolean => {
    if (code === "unrecognized_keys") return path.length === 0;
    if (code === "invalid_key" && shape.form.kind === "record") return path.length === 1;
    if (code === "invalid_union" && path.length === 1) return path[0] === tag;
    // Issues of checks have `continue`, and issues of parts have a path.
    return goesOn === undefined && path.length === 0;
  };
  return {
    ...shape,
    run(payload, mode) {
      const { value } = payload;
      const from = payload.issues.length;
      const result = shape.run(payload, mode);
      for (let i = from; i < result.issues.length; i++) {
        const issue = result.issues[i] as ShapeIssue;
        if (isOwn(issue)) result.issues[i] = retold(issue, message, value);
      }
      return result;
    },
  };
}

/**
 * Returns the custom message function of a zod schema, or of its check with the index `check`. `schema` is called only
 * if there is an issue.
 */
export function messageOf(schema: () => unknown, check?: number): Told {
  return (issue) => {
    const whole = schema() as Internals;
    const { checks = [] } = whole._zod.def;
    const all = whole._zod.traits.has("$ZodCheck") ? [whole, ...checks] : checks;
    const inst = check === undefined ? whole : all[check];
    const { error, ...def } = inst?._zod.def ?? {};
    return textOf(error?.({ ...def, ...issue, inst }));
  };
}

function retold(issue: ShapeIssue, message: Told, input: unknown): ShapeIssue {
  const { facts, ...rest } = issue;
  const text = typeof message === "string" ? message : message({ ...rest, ...facts, input });
  return text === undefined ? issue : { ...rest, message: text };
}
