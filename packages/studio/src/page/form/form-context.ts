import type { JsonSchema } from "@quicrpc/services";
import type { Edit, Path } from "../schema/edit.js";
import type { JsonNode } from "../schema/json-tree.js";

/** Context of every part of a form. */
export interface FormContext {
  readonly root: JsonSchema;
  readonly text: string;
  /** Grows with each change that was not made in a field: what a field remembers of its own is void then. */
  readonly generation: number;
  /** Returns the problems of the value that begins at a place of the text. */
  readonly problemsAt: (from: number) => readonly string[];
  /**
   * Edits the text. `focus`: the id within which the first control is focused afterwards. Returns false where the text has changed since: a path of then
   * leads elsewhere now.
   */
  readonly edit: (path: Path, edit: Edit, focus?: string) => boolean;
}

/** A place of a form. */
export interface FieldProps {
  readonly form: FormContext;
  readonly node: JsonNode;
  readonly schema: unknown;
  readonly path: Path;
  /** Name of the value. */
  readonly label: string;
  /** Fields around it. */
  readonly depth: number;
}

/** A scalar as its field shows it: text without its quotes, anything else as it was typed. */
export function shownText({ text }: FormContext, { value, from, to }: JsonNode): string {
  return typeof value === "string" ? value : text.slice(from, to);
}

/** The id of the control of a value. */
export function idOf(path: Path): string {
  return ["field", ...path].join("-");
}
