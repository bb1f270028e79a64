import type { Check } from "./check.js";
import type { Shape, ShapeIssue } from "./shape.js";
import { textOf } from "./zod-config.js";

/** A message of a schema's author: the text, or what makes it of an issue. */
type Told = string | ((issue: object) => string | undefined);

/** zod's own internals, as far as messages need them. */
interface Internals {
  readonly _zod: {
    readonly def: { readonly error?: (issue: object) => unknown; readonly checks?: readonly Internals[] };
    readonly traits: ReadonlySet<string>;
  };
}

/** `check`, whose issue has the message that the schema's author gave it. */
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
 * `shape`, which refuses values of another type with the message that the schema's author gave.
 *
 * @param tag the key by which it tells its options apart, where issues of the whole stand
 */
export function toldShape(shape: Shape, message: Told, tag?: string): Shape {
  const isOwn = ({ code, path, continue: goesOn }: ShapeIssue): boolean => {
    if (code === "unrecognized_keys") return path.length === 0;
    if (code === "invalid_key" && shape.form.kind === "record") return path.length === 1;
    if (code === "invalid_union" && path.length === 1) return path[0] === tag;
    // Issues of checks say whether others run; those of parts have a path.
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

/** The messages of a schema, or of one of its checks, that a function makes: it is called where there is an issue. */
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
