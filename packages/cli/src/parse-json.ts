const TOKEN = /\\.|"|-?\d[\d.eE+-]*/g;
const LONG_INTEGER = /^-?[1-9]\d{15,}$/;
/** Number of digits up to which an integer is less than the largest number. */
const MAX_DIGITS = 300;

/**
 * Parses JSON. Integers that `JSON.parse` would round become strings of their digits, as proto JSON writes integers of
 * 64 bits, and JSON Schemas of `bigint` accept them.
 */
export function parseJson(text: string): unknown {
  let inString = false;
  const exact = text.replace(TOKEN, (token) => {
    if (token === '"') inString = !inString;
    return inString || isExact(token) ? token : `"${token}"`;
  });
  return JSON.parse(exact);
}

function isExact(token: string): boolean {
  if (!LONG_INTEGER.test(token)) return true;
  return token.length < MAX_DIGITS && BigInt(Number(token)) === BigInt(token);
}
