import { appendBytes, RpcError, type SessionCodec } from "@quicrpc/core";
import sax from "sax";

/** Maximum number of values and names in a message: one takes 4 bytes of XML and far more of memory. */
const MAX_VALUES = 10_000;
/** Maximum number of elements inside one another, as in the codecs of quicrpc. */
const MAX_DEPTH = 100;
/** Maximum digits of an integer: reading one takes the square of its length. */
const MAX_DIGITS = 2500;
/** Characters that an XML document cannot contain in any form (XML 1.0 §2.2). */
const UNWRITABLE = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;
const NUMBER = /^(-?(\d+(\.\d+)?(e[+-]?\d+)?|Infinity)|NaN)$/;

/**
 * XML as the codec of a session: an element for each value, whose name is the value's type, and whose attribute `name`
 * is its key in an object. `<object><text name="id">o-1</text></object>` is `{ id: "o-1" }`.
 */
export const xml: SessionCodec = {
  name: "xml",
  encode: (value, out) => appendBytes(out, Buffer.from(elementOf(value, "", 0))),
  decode: (bytes, start, end) =>
    read(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(start, end))),
};

function elementOf(value: unknown, attribute: string, depth: number): string {
  if (depth > MAX_DEPTH) throw invalid(`more than ${MAX_DEPTH} levels`);
  const element = (type: string, content: string): string => `<${type}${attribute}>${content}</${type}>`;
  const all = (values: readonly unknown[]): string => values.map((item) => elementOf(item, "", depth + 1)).join("");
  switch (typeof value) {
    case "string":
      return element("text", escaped(value));
    case "number":
      return element("number", Object.is(value, -0) ? "-0" : String(value));
    case "bigint":
      return element("integer", String(value));
    case "boolean":
      return element("boolean", String(value));
    case "undefined":
      return element("undefined", "");
    case "object":
      if (value === null) return element("null", "");
      if (value instanceof Date) return element("date", value.toISOString());
      if (value instanceof Uint8Array) return element("bytes", Buffer.from(value).toString("base64"));
      if (Array.isArray(value)) return element("list", all(value));
      if (value instanceof Set) return element("set", all([...value]));
      if (value instanceof Map) return element("map", all([...value].flat()));
      return element("object", fieldsOf(value, depth + 1));
    default:
      throw invalid(`a ${typeof value}, which cannot be sent`);
  }
}

function fieldsOf(object: object, depth: number): string {
  const fields = Object.entries(object).filter(([, value]) => value !== undefined);
  return fields.map(([name, value]) => elementOf(value, ` name="${escaped(name)}"`, depth)).join("");
}

function escaped(text: string): string {
  if (UNWRITABLE.test(text)) throw invalid("a text with a character that XML cannot contain");
  return text.replace(/[&<>"\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** An element that has begun. */
interface Open {
  readonly type: string;
  readonly name: string | undefined;
  text: string;
  readonly values: unknown[];
  /** Keys of `values`, if it is an object. */
  readonly names: string[];
}

/** Throws before a message takes more memory or time than its bytes: no entities, no declarations, few values. */
function read(document: string): unknown {
  const parser = sax.parser(true, { position: false });
  const root = begin("list", undefined);
  const open = [root];
  let count = 0;
  const countValue = (): void => {
    if (++count > MAX_VALUES) throw new RpcError("resource_exhausted", `a message has more than ${MAX_VALUES} values`);
  };
  const refuse = (what: string) => (): never => {
    throw invalid(what);
  };
  parser.onerror = ({ message }) => {
    throw invalid(`a syntax error: ${message.split("\n", 1)[0]}`);
  };
  parser.ondoctype = refuse("a document type");
  parser.oncomment = refuse("a comment");
  parser.onprocessinginstruction = ({ name }) => {
    if (name !== "xml") throw invalid("a processing instruction");
  };
  parser.onopentagstart = countValue;
  parser.onattribute = ({ name }) => {
    if (name !== "name") throw invalid(`the attribute ${name.slice(0, 20)}`);
    countValue();
  };
  parser.onopentag = ({ name, attributes }) => {
    if (open.length > MAX_DEPTH + 1) throw invalid(`more than ${MAX_DEPTH} levels`);
    open.push(begin(name, attributes["name"] as string | undefined));
  };
  parser.ontext = parser.oncdata = (text) => {
    (open.at(-1) as Open).text += text;
  };
  parser.onclosetag = () => {
    const element = open.pop() as Open;
    const parent = open.at(-1) as Open;
    if ((element.name !== undefined) !== (parent.type === "object")) throw invalid("a name outside of an object");
    parent.values.push(valueOf(element));
    if (element.name !== undefined) parent.names.push(element.name);
  };
  parser.write(document).close();
  if (root.values.length !== 1) throw invalid("no value, or several");
  return root.values[0];
}

function begin(type: string, name: string | undefined): Open {
  return { type, name, text: "", values: [], names: [] };
}

function valueOf({ type, text, values, names }: Open): unknown {
  const isContainer = type === "list" || type === "set" || type === "map" || type === "object";
  if (isContainer ? text.trim() !== "" : values.length > 0) throw invalid(`other content than <${type}> has`);
  switch (type) {
    case "text":
      return text;
    case "number":
      return matching(NUMBER, text, Number);
    case "integer":
      if (text.length > MAX_DIGITS) throw invalid(`an integer of more than ${MAX_DIGITS} digits`);
      return matching(/^-?\d+$/, text, BigInt);
    case "boolean":
      return matching(/^(true|false)$/, text, () => text === "true");
    case "null":
      return matching(/^$/, text, () => null);
    case "undefined":
      return matching(/^$/, text, () => undefined);
    case "date":
      return matching(/^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, text, () => new Date(text));
    case "bytes":
      return matching(/^[A-Za-z0-9+/]*={0,2}$/, text, () => new Uint8Array(Buffer.from(text, "base64")));
    case "list":
      return values;
    case "set":
      return new Set(values);
    case "map":
      if (values.length % 2 !== 0) throw invalid("a map with a key without a value");
      return new Map(values.flatMap((key, i) => (i % 2 === 0 ? [[key, values[i + 1]] as const] : [])));
    case "object":
      return Object.fromEntries(names.map((name, i) => [name, values[i]]));
    default:
      throw invalid(`the element <${type.slice(0, 20)}>`);
  }
}

function matching<T>(pattern: RegExp, text: string, read: (text: string) => T): T {
  if (!pattern.test(text)) throw invalid(`"${text.slice(0, 20)}", which is not a value of its type`);
  return read(text);
}

function invalid(what: string): RpcError {
  return new RpcError("invalid_argument", `a message in XML has ${what}`);
}
