import { isIdentifier } from "../names.js";
import type { SchemaTypeText } from "./type-text.js";

/** Lines of generated files are kept to this where they can be. */
export const MAX_WIDTH: number = 120;

/** The imports that a file turns out to need, as its parts are printed. */
export class ImportNotes {
  usesZod = false;
  /** The exports of the schema module whose types are asked for. */
  readonly schemaTypes: Set<string> = new Set();

  /** The exports of the schema module that are needed when the generated code runs. */
  readonly schemaValues: Set<string> = new Set();

  /** Prints `z.input` and `z.output`, and notes what they need. */
  readonly schemaText: SchemaTypeText;

  constructor(plain: SchemaTypeText) {
    this.schemaText = (helper, root, access) => {
      this.usesZod = true;
      this.schemaTypes.add(root);
      return plain(helper, root, access);
    };
  }
}

/** `text` as a JSDoc comment with a line break at its end, or nothing. */
export function jsDoc(text: string | undefined, indent = ""): string {
  if (text === undefined || text.trim() === "") return "";
  const lines = text.trim().replaceAll("*/", "*\\/").split(/\r?\n/);
  const [only] = lines;
  if (lines.length === 1 && indent.length + (only?.length ?? 0) + 7 <= MAX_WIDTH) return `${indent}/** ${only} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

/** `open`, the items one a line, `close`. */
export function list(open: string, items: readonly string[], close: string, indent = ""): string {
  return `${open}\n${items.map((item) => `${indent}  ${item},\n`).join("")}${indent}${close}`;
}

/** A key of an object literal or type. */
export function keyText(key: string): string {
  // In a literal this key alone would set the prototype.
  if (key === "__proto__") return '["__proto__"]';
  return isIdentifier(key) ? key : JSON.stringify(key);
}
