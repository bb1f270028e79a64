import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { meantChoice } from "../schema/check.js";
import { exampleOf } from "../schema/example.js";
import {
  choiceLabels,
  type FormField,
  type FieldKind,
  fieldOf,
  formMembersOf,
  fieldHintOf,
  isEditable,
  newName,
} from "../schema/field.js";
import { choicesOf, itemOf, lengthOf, memberOf } from "@quicrpc/services/json-schema";
import { BytesField } from "./bytes-field.js";
import { DateField } from "./date-field.js";
import { type FieldProps, idOf } from "./form-context.js";
import { Hidden, Key, MAX_SHOWN, Remove } from "./member-controls.js";
import { AnyField, BooleanField, ConstantField, EnumField, NumberField, TextField } from "./scalar-fields.js";

/** Maximum depth of nested values that a form shows. Deeper values are edited as JSON. */
const MAX_DEPTH = 16;

/** Properties of a component that edits one kind of value. */
export interface ControlProps extends FieldProps {
  readonly field: FormField;
  /** ARIA attributes that associate an input element with its label, hint and problems. */
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
/** Kinds of fields whose parts have labels of their own. They are in a group that has the field's name as its label. */
const GROUPS: ReadonlySet<FieldKind> = new Set(["object", "array", "choice", "date", "bytes"]);

export interface FieldViewProps extends FieldProps {
  /** Id of the field, if another field around it has the same value. */
  readonly id?: string;
  /** Buttons of the field that contains this field, for example to remove the value. */
  readonly children?: ComponentChildren;
}

/** One field of a form: its label, its input element and its problems. */
export function FieldView({ children, id: givenId, ...props }: FieldViewProps): JSX.Element {
  const { form, node, schema, path, label, depth } = props;
  const field = depth > MAX_DEPTH ? ({ kind: "any", schema: {} } as const) : fieldOf(schema, form.root);
  const id = givenId ?? idOf(path);
  // The field of the choice shows its problems.
  const problems = field.kind === "choice" ? [] : form.problemsAt(node.from);
  const hint = fieldHintOf(field);
  const { description } = field.schema;
  const aria = { id, "aria-describedby": `${id}-said`, "aria-invalid": problems.length > 0 };
  const isEditableHere = isEditable(field.kind, node);
  const Control = CONTROLS[field.kind];
  const notes = (
    <p class="said" id={`${id}-said`}>
      {problems.length > 0 && <span class="problem">{problems.join(" ")}</span>}
      {hint !== "" && <span class="dim">{hint}</span>}
      {typeof description === "string" && <span class="dim">{description}</span>}
    </p>
  );
  const resetButton = !isEditableHere && (
    <button type="button" onClick={() => form.edit(path, { kind: "replace", value: exampleOf(schema, form.root) }, id)}>
      Begin anew
    </button>
  );
  if (GROUPS.has(field.kind) || !isEditableHere) {
    return (
      <fieldset id={id} class="field" aria-describedby={`${id}-said`}>
        <legend>{label}</legend>
        {children}
        {notes}
        {resetButton}
        {isEditableHere && <Control {...props} field={field} aria={{ ...aria, id: `${id}-control` }} />}
      </fieldset>
    );
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <Control {...props} field={field} aria={aria} />
      {notes}
    </div>
  );
}

/** Form field for an object, a record or a map: its members, and buttons that add more. */
function ObjectField({ form, node, path, label, depth, field, aria }: ControlProps): JSX.Element {
  const { names, required, others } = formMembersOf(field.schema);
  const present = new Set(node.properties.map(({ name }) => name));
  const missing = names.filter((name) => !present.has(name));
  const { length } = node.properties;
  const add = (name: string): void => {
    const value = exampleOf(memberOf(field.schema, name), form.root);
    form.edit(path, { kind: "add", name, value }, idOf([...path, length]));
  };
  return (
    <>
      {node.properties.slice(0, MAX_SHOWN).map((property, index) => {
        const { name, value } = property;
        if (value === undefined) return null;
        const at = [...path, index];
        const isOwn = names.includes(name);
        return (
          <div class="member" key={index}>
            {!isOwn && others !== undefined && (
              <Key form={form} path={at} name={name} problems={form.problemsAt(property.from)} />
            )}
            {!isOwn && others === undefined && <p class="problem">{form.problemsAt(property.from).join(" ")}</p>}
            <FieldView
              form={form}
              node={value}
              schema={memberOf(field.schema, name)}
              path={at}
              label={isOwn ? name : others === undefined ? name : `Value of ${name}`}
              depth={depth + 1}
            >
              {!(isOwn && required.includes(name)) && (
                <Remove form={form} path={at} label={`${label}: ${name}`} focus={aria.id} />
              )}
            </FieldView>
          </div>
        );
      })}
      <Hidden count={length} />
      <p class="actions" id={aria.id}>
        {missing.map((name) => (
          <button key={name} type="button" onClick={() => add(name)}>
            + {name}
            {required.includes(name) ? "" : <span class="dim"> optional</span>}
          </button>
        ))}
        {others !== undefined && (
          <button
            type="button"
            aria-label={`Add an entry to ${label}`}
            onClick={() => add(newName(node, field.schema, form.root))}
          >
            Add an entry
          </button>
        )}
      </p>
    </>
  );
}

/** Form field for a list, a tuple or a set. */
function ArrayField({ form, node, path, label, depth, field, aria }: ControlProps): JSX.Element {
  const { schema } = field;
  const { min, max } = lengthOf(schema);
  const { length } = node.items;
  return (
    <>
      {node.items.slice(0, MAX_SHOWN).map((item, index) => (
        <FieldView
          key={index}
          form={form}
          node={item}
          schema={itemOf(schema, index)}
          path={[...path, index]}
          label={`${label} ${index + 1}`}
          depth={depth + 1}
        >
          {length > min && (
            <Remove form={form} path={[...path, index]} label={`${label} ${index + 1}`} focus={aria.id} />
          )}
        </FieldView>
      ))}
      <Hidden count={length} />
      <p class="actions" id={aria.id}>
        <button
          type="button"
          aria-label={`Add to ${label}`}
          disabled={length >= max}
          onClick={() =>
            form.edit(
              path,
              { kind: "add", value: exampleOf(itemOf(schema, length), form.root) },
              idOf([...path, length]),
            )
          }
        >
          Add
        </button>
      </p>
    </>
  );
}

/**
 * Form field for a value with several alternative schemas. It uses the schema that the user has selected, otherwise the
 * one that matches best.
 */
function ChoiceField({ form, node, path, label, depth, field, aria }: ControlProps): JSX.Element {
  const [chosen, setChosen] = useState({ index: 0, generation: -1 });
  const choices = choicesOf(field.schema) ?? [];
  const index =
    chosen.generation === form.generation && chosen.index < choices.length
      ? chosen.index
      : meantChoice(node, choices, form.root);
  return (
    <>
      <select
        {...aria}
        aria-label={`${label} is`}
        value={index}
        onChange={(event) => {
          const next = Number(event.currentTarget.value);
          setChosen({ index: next, generation: form.generation });
          form.edit(path, { kind: "replace", value: exampleOf(choices[next], form.root) });
        }}
      >
        {choiceLabels(choices, form.root).map((text, choiceIndex) => (
          <option key={choiceIndex} value={choiceIndex}>
            {text}
          </option>
        ))}
      </select>
      <div class="chosen">
        <FieldView
          key={index}
          form={form}
          node={node}
          schema={choices[index]}
          path={path}
          label={label}
          depth={depth + 1}
          id={`${aria.id}-value`}
        />
      </div>
    </>
  );
}
