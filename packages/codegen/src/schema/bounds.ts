import type { CheckNode } from "./node.js";

/** All bounds in a schema's checks. A required size is stored as a minimum and a maximum. */
export interface Bounds {
  minimum?: number | bigint | Date;
  maximum?: number | bigint | Date;
  exclusiveMinimum?: number | bigint | Date;
  exclusiveMaximum?: number | bigint | Date;
  multipleOf?: number | bigint;
  format?: string;
  patterns: RegExp[];
}

const NAMES = {
  atLeast: "minimum",
  moreThan: "exclusiveMinimum",
  atMost: "maximum",
  lessThan: "exclusiveMaximum",
} as const;

/** Returns the strictest bounds in `checks`. */
export function boundsOf(checks: readonly CheckNode[]): Bounds {
  const bounds: Bounds = { patterns: [] };
  const narrow = (name: (typeof NAMES)[keyof typeof NAMES], bound: number | bigint | Date | undefined): void => {
    const before = bounds[name];
    const isNarrower = (from: number | bigint | Date, to: number | bigint | Date): boolean =>
      name === "minimum" || name === "exclusiveMinimum" ? to > from : to < from;
    if (bound !== undefined && (before === undefined || isNarrower(before, bound))) bounds[name] = bound;
  };
  for (const check of checks) {
    if ("bound" in check) narrow(NAMES[check.kind], check.bound);
    if (check.kind === "minSize" || check.kind === "exactSize") narrow("minimum", check.size);
    if (check.kind === "maxSize" || check.kind === "exactSize") narrow("maximum", check.size);
    if (check.kind === "integer") {
      narrow("minimum", check.least);
      narrow("maximum", check.most);
    }
    if (check.kind === "multipleOf") bounds.multipleOf = check.step;
    if ("format" in check && check.format !== undefined) bounds.format = check.format;
    if ("regex" in check && check.regex !== undefined) bounds.patterns.push(check.regex);
  }
  return bounds;
}
