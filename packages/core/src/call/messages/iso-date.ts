/**
 * Reads a time in RFC 3339, and in the wider years that `Date.toISOString` writes: a date, a time with any fraction of a second or
 * none, and an offset. Returns undefined for any other text, and for days, hours and offsets that do not exist.
 */
export function readIsoDate(text: string): Date | undefined {
  const [, date = "", day] = ISO_DATE.exec(text) ?? [];
  const value = new Date(text);
  // JavaScript treats 30 February as 1 March; the date alone, in UTC, reveals that.
  const exists = new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day);
  return exists && !Number.isNaN(value.getTime()) ? value : undefined;
}

const ISO_DATE =
  /^((?:\d{4}|[+-]\d{6})-\d\d-(\d\d))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
