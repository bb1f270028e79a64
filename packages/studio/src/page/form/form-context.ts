import type { JsonSchema } from "@quicrpc/services";
import type { Edit, Path } from "../schema/edit.js";
import type { JsonNode } from "../schema/json-tree.js";

/** Context of all parts of a form. */
export interface FormContext {
  readonly root: JsonSchema;
  readonly text: string;
  /** Increased with each change made outside a field. Fields then discard their own state. */
  readonly generation: number;
  /** Returns the problems of the value at a position of the text. */
  readonly problemsAt: (from: number) => readonly string[];
  /**
   * Edits the text. Returns false if the text has changed since, because the path may now lead elsewhere.
   *
   * @param focus id of the element whose first control receives the focus
   */
  readonly edit: (path: Path, edit: Edit, focus?: string) => boolean;
}

/** Properties of a field in a form. */
export interface FieldProps {
  readonly form: FormContext;
  readonly node: JsonNode;
  readonly schema: unknown;
  readonly path: Path;
  /** Name of the value. */
  readonly label: string;
  /** Number of fields around it. */
  readonly depth: number;
}

/** Returns the text that a field shows for a scalar: a string without its quotes, other values as typed. */
export function shownText({ text }: FormContext, { value, from, to }: JsonNode): string {
  return typeof value === "string" ? value : text.slice(from, to);
}

/** Returns the id of a value's control. */
export function idOf(path: Path): string {
  return ["field", ...path].join("-");
}
