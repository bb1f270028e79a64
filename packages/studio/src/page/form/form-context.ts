import type { JsonSchema } from "@quicrpc/services";
import type { Edit, Path } from "../schema/edit.js";
import type { JsonNode } from "../schema/json-tree.js";

/** Values that all fields of a form share. */
export interface FormContext {
  readonly root: JsonSchema;
  readonly text: string;
  /** Counter that increases with each change made outside a field. Fields then discard their own state. */
  readonly generation: number;
  /** Returns the problems of the value at a position of the text. */
  readonly problemsAt: (from: number) => readonly string[];
  /**
   * Edits the text of the form. Returns false if the text has changed meanwhile, because `path` may then lead to
   * another value.
   *
   * @param focus id of the element whose first input receives the focus
   */
  readonly edit: (path: Path, edit: Edit, focus?: string) => boolean;
}

export interface FieldProps {
  readonly form: FormContext;
  readonly node: JsonNode;
  readonly schema: unknown;
  readonly path: Path;
  readonly label: string;
  /** Number of fields that contain this field. */
  readonly depth: number;
}

/** Returns the text that a field shows for a single value: a string without quotes, other values as typed. */
export function shownText({ text }: FormContext, { value, from, to }: JsonNode): string {
  return typeof value === "string" ? value : text.slice(from, to);
}

/** Returns the id of the input element for the value at `path`. */
export function idOf(path: Path): string {
  return ["field", ...path].join("-");
}
