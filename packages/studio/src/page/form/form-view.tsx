import { parser } from "@lezer/json";
import type { JsonSchema } from "@quicrpc/services";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { mismatchesOf } from "../schema/check.js";
import { edited } from "../schema/edit.js";
import { type JsonNode, jsonTree } from "../schema/json-tree.js";
import { FieldView } from "./field-view.js";
import type { FormContext } from "./form-context.js";

/** Maximum number of characters of a text that is shown as a form. A longer text can be edited as text. */
const MAX_TEXT = 2_000_000;

export interface FormViewProps {
  readonly text: string;
  readonly schema: JsonSchema;
  readonly onChange: (text: string) => void;
}

/**
 * Form for a JSON text, created from its schema. The text is the only state: each field reads its value from the text
 * and writes it there.
 */
export function FormView({ text, schema, onChange }: FormViewProps): JSX.Element {
  const container = useRef<HTMLDivElement>(null);
  const written = useRef<string>();
  const generation = useRef(0);
  const focus = useRef<string>();
  const latest = useRef(text);
  latest.current = text;
  if (text !== written.current) {
    written.current = text;
    generation.current++;
  }
  const root = useMemo(() => rootOf(text), [text]);
  const problems = useMemo(() => problemsOf(root, schema), [root, schema]);

  useLayoutEffect(() => {
    if (focus.current === undefined) return;
    const field = container.current?.querySelector(`#${focus.current}`);
    focus.current = undefined;
    const control = field?.matches(CONTROL) ? field : field?.querySelector(CONTROL);
    if (control instanceof HTMLElement) control.focus();
  });

  if (root === undefined) {
    return (
      <p class="dim" role="status">
        {text.length > MAX_TEXT
          ? "The text is too long for a form."
          : "The text is not valid JSON: the form waits until it is."}
      </p>
    );
  }
  const form: FormContext = {
    root: schema,
    text,
    generation: generation.current,
    problemsAt: (from) => problems.get(from) ?? [],
    edit: (path, edit, focused) => {
      // A file that a field reads may arrive after other changes.
      if (latest.current !== text) return false;
      const changed = edited(text, root, path, edit);
      focus.current = focused;
      // The fields move, together with their state.
      if (edit.kind !== "remove") written.current = changed;
      onChange(changed);
      return true;
    },
  };
  return (
    <div class="form" ref={container}>
      <FieldView form={form} node={root} schema={schema} path={[]} label="Message" depth={0} />
    </div>
  );
}

const CONTROL = ":is(input, select, textarea, button):not(.remove)";

/** Returns the syntax tree of a text. Undefined if the text is not JSON or is too long. */
function rootOf(text: string): JsonNode | undefined {
  if (text.length > MAX_TEXT) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return jsonTree(parser.parse(text), text);
}

/** Returns the problems that the form shows, by position in the text. */
function problemsOf(root: JsonNode | undefined, schema: JsonSchema): ReadonlyMap<number, readonly string[]> {
  const problems = new Map<number, string[]>();
  if (root === undefined) return problems;
  for (const { from, message } of mismatchesOf(root, schema, schema)) {
    const problemsHere = problems.get(from);
    if (problemsHere === undefined) problems.set(from, [message]);
    else problemsHere.push(message);
  }
  return problems;
}
