/**
 * Reads a time with its date and offset, as `Date.toISOString` has it or another language: with any fraction of a second or none.
 * Undefined where `text` is something else.
 */
export function readIsoDate(text: string): Date | undefined {
  const parts = ISO_DATE.exec(text);
  if (parts === null) return undefined;
  const value = new Date(text);
  const isThatDay = !text.endsWith("Z") || Number(parts[1]) === value.getUTCDate();
  return Number.isNaN(value.getTime()) || !isThatDay ? undefined : value;
}

const ISO_DATE = /^(?:\d{4}|[+-]\d{6})-\d\d-(\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
