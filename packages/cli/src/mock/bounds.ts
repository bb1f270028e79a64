import type { ZodLike } from "./schema.js";

/** The bounds that a schema's checks set together. */
export interface Bounds {
  minimum?: number | bigint | Date;
  maximum?: number | bigint | Date;
  exclusiveMinimum?: number | bigint | Date;
  exclusiveMaximum?: number | bigint | Date;
  multipleOf?: number | bigint;
  /** The exact size of a list, a text, a set or a map. */
  size?: number;
  format?: string;
  patterns: RegExp[];
}

/** The definition of a check, by zod's name of it. */
interface Check {
  readonly check?: string;
  readonly value?: number | bigint | Date;
  readonly inclusive?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly length?: number;
  readonly size?: number;
  readonly format?: string;
  readonly pattern?: unknown;
}

const RANGES: Readonly<Record<string, readonly [number | bigint, number | bigint]>> = {
  int32: [-2147483648, 2147483647],
  uint32: [0, 4294967295],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

/** Gathers the checks of a schema, which may be one itself, as `z.int()` is. */
export function boundsOf(schema: ZodLike): Bounds {
  const def = schema._zod.def as Check & { readonly checks?: readonly { readonly _zod: { readonly def: Check } }[] };
  const bounds: Bounds = { patterns: [] };
  for (const check of [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)]) add(check, bounds);
  return bounds;
}

function add(
  { check, value, inclusive, minimum, maximum, length, size, format, pattern }: Check,
  bounds: Bounds,
): void {
  switch (check) {
    case "greater_than":
      if (value !== undefined) raise(bounds, inclusive === true ? "minimum" : "exclusiveMinimum", value);
      return;
    case "less_than":
      if (value !== undefined) lower(bounds, inclusive === true ? "maximum" : "exclusiveMaximum", value);
      return;
    case "multiple_of":
      if (typeof value === "number" || typeof value === "bigint") bounds.multipleOf = value;
      return;
    case "number_format":
    case "bigint_format": {
      if (format === undefined) return;
      bounds.format = format;
      const [from, to] = RANGES[format] ?? [];
      if (from !== undefined) raise(bounds, "minimum", from);
      if (to !== undefined) lower(bounds, "maximum", to);
      return;
    }
    case "string_format":
      if (format !== undefined) bounds.format = format;
      if (pattern instanceof RegExp) bounds.patterns.push(pattern);
      return;
    default:
      if (minimum !== undefined) raise(bounds, "minimum", minimum);
      if (maximum !== undefined) lower(bounds, "maximum", maximum);
      if (length !== undefined || size !== undefined) bounds.size = (length ?? size) as number;
  }
}

function raise(bounds: Bounds, name: "minimum" | "exclusiveMinimum", value: number | bigint | Date): void {
  const before = bounds[name];
  if (before === undefined || value > before) bounds[name] = value;
}

function lower(bounds: Bounds, name: "maximum" | "exclusiveMaximum", value: number | bigint | Date): void {
  const before = bounds[name];
  if (before === undefined || value < before) bounds[name] = value;
}
