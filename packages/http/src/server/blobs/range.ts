/** Bytes of a representation, from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The one range that a `Range` asks for (RFC 9110 §14). Undefined for all of it: where there is none, another unit, several, or what cannot be read, which a
 * server may answer with the whole. "unsatisfiable" for one that has no byte of it.
 */
export function rangeOf(value: string | undefined, length: number): ByteRange | "unsatisfiable" | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(value?.replaceAll(/[ \t]/g, "") ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return undefined;
  if (first === "") {
    const suffix = Math.min(Number(last), length);
    return suffix === 0 ? "unsatisfiable" : { start: length - suffix, end: length };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  if (start >= length) return "unsatisfiable";
  return { start, end: last === "" ? length : Math.min(Number(last) + 1, length) };
}
