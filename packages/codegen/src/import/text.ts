/** Matches comments and strings of protobuf. */
const COMMENTS_AND_STRINGS = /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;
const ESCAPE = /\\(?:([0-7]{1,3})|[xX]([\da-fA-F]{1,2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([^]))/g;
const ESCAPED: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Returns `text` with blanks in place of comments and of the content of strings. */
export function codeOf(text: string): string {
  return text.replaceAll(COMMENTS_AND_STRINGS, (part) =>
    part.startsWith("/") ? part.replaceAll(/[^\n]/g, " ") : part.charAt(0) + " ".repeat(part.length - 2) + part.at(-1),
  );
}

/** Returns `text` with the escapes in its strings that the parser understands: it deletes others. */
export function withPlainEscapes(text: string): string {
  return text.replaceAll(COMMENTS_AND_STRINGS, (part) => {
    if (part.startsWith("/") || !part.includes("\\")) return part;
    const plain = unescaped(part.slice(1, -1))
      .replaceAll("\\", "\\\\")
      .replaceAll("\n", "\\n")
      .replaceAll("\r", "\\r")
      .replaceAll("\0", "\\0");
    // The parser concatenates adjacent strings.
    return plain
      .split('"')
      .map((each) => `"${each}"`)
      .join(` '"' `);
  });
}

function unescaped(text: string): string {
  const parts: Buffer[] = [];
  let end = 0;
  for (const match of text.matchAll(ESCAPE)) {
    const [all, octal, hex, short, long, other = ""] = match;
    const code = short ?? long;
    parts.push(Buffer.from(text.slice(end, match.index)));
    end = match.index + all.length;
    if (octal !== undefined) parts.push(Buffer.from([Number.parseInt(octal, 8)]));
    else if (hex !== undefined) parts.push(Buffer.from([Number.parseInt(hex, 16)]));
    else if (code === undefined) parts.push(Buffer.from(ESCAPED[other] ?? other));
    else parts.push(Buffer.from(String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0x10ffff))));
  }
  return Buffer.concat([...parts, Buffer.from(text.slice(end))]).toString();
}
