import type { ComponentChildren, JSX } from "preact";
import { exampleOf } from "../schema/example.js";
import { type Field, type FieldKind, fieldOf, hintOf, isEditable } from "../schema/field.js";
import { BytesField } from "./bytes-field.js";
import { ChoiceField } from "./choice-field.js";
import { ArrayField, ObjectField } from "./containers.js";
import { DateField } from "./date-field.js";
import { type FieldProps, idOf } from "./form-context.js";
import { AnyField, BooleanField, ConstantField, EnumField, NumberField, TextField } from "./scalar-fields.js";

/** Values within each other that a form shows; those further in are edited as JSON. */
const MAX_DEPTH = 16;

/** Properties of what edits one kind of value. */
export interface ControlProps extends FieldProps {
  readonly field: Field;
  /** Attributes that tie a control to its label, its hint and its problems. */
  readonly aria: {
    readonly id: string;
    readonly "aria-describedby": string;
    readonly "aria-invalid": boolean;
  };
}

const CONTROLS: Readonly<Record<FieldKind, (props: ControlProps) => JSX.Element>> = {
  object: ObjectField,
  array: ArrayField,
  choice: ChoiceField,
  enum: EnumField,
  const: ConstantField,
  null: ConstantField,
  boolean: BooleanField,
  number: NumberField,
  bigint: TextField,
  text: TextField,
  date: DateField,
  bytes: BytesField,
  any: AnyField,
};
/** Kinds of which the parts are labelled, within a group that has the value's name. */
const GROUPS: ReadonlySet<FieldKind> = new Set(["object", "array", "choice", "date", "bytes"]);

/** Properties of `FieldView`. */
export interface FieldViewProps extends FieldProps {
  /** Its id, where a field around it is of the same value. */
  readonly id?: string;
  /** Controls of what the value is in: what removes it, say. */
  readonly children?: ComponentChildren;
}

/** One value of a form: its label, what edits it, and what is wrong with it. */
export function FieldView({ children, id: given, ...props }: FieldViewProps): JSX.Element {
  const { form, node, schema, path, label, depth } = props;
  const field = depth > MAX_DEPTH ? ({ kind: "any", schema: {} } as const) : fieldOf(schema, form.root);
  const id = given ?? idOf(path);
  // What is wrong with a choice is said by the field of the choice.
  const problems = field.kind === "choice" ? [] : form.problemsAt(node.from);
  const hint = hintOf(field);
  const { description } = field.schema;
  const aria = { id, "aria-describedby": `${id}-said`, "aria-invalid": problems.length > 0 };
  const fits = isEditable(field.kind, node);
  const Control = CONTROLS[field.kind];
  const said = (
    <p class="said" id={`${id}-said`}>
      {problems.length > 0 && <span class="problem">{problems.join(" ")}</span>}
      {hint !== "" && <span class="dim">{hint}</span>}
      {typeof description === "string" && <span class="dim">{description}</span>}
    </p>
  );
  const anew = !fits && (
    <button type="button" onClick={() => form.edit(path, { kind: "replace", value: exampleOf(schema, form.root) }, id)}>
      Begin anew
    </button>
  );
  if (GROUPS.has(field.kind) || !fits) {
    return (
      <fieldset id={id} class="field" aria-describedby={`${id}-said`}>
        <legend>{label}</legend>
        {children}
        {said}
        {anew}
        {fits && <Control {...props} field={field} aria={{ ...aria, id: `${id}-control` }} />}
      </fieldset>
    );
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <Control {...props} field={field} aria={aria} />
      {said}
    </div>
  );
}
