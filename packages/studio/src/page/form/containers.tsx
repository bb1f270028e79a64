import type { JSX } from "preact";
import { exampleOf } from "../schema/example.js";
import { formMembersOf, newName } from "../schema/field.js";
import { itemOf, lengthOf, memberOf } from "../schema/schema.js";
import { type ControlProps, FieldView } from "./field-view.js";
import { type FieldProps, idOf } from "./form-context.js";

/** Members and items that a form shows; there may be more in the text. */
const MAX_SHOWN = 100;

/** An object, a record or a map: the members that are given, and what adds those that are not. */
export function ObjectField({ form, node, path, label, depth, field, aria }: ControlProps): JSX.Element {
  const { names, required, others } = formMembersOf(field.schema);
  const given = new Set(node.properties.map(({ name }) => name));
  const missing = names.filter((name) => !given.has(name));
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

/** A list, a tuple or a set. */
export function ArrayField({ form, node, path, label, depth, field, aria }: ControlProps): JSX.Element {
  const { schema } = field;
  const { least, most } = lengthOf(schema);
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
          {length > least && (
            <Remove form={form} path={[...path, index]} label={`${label} ${index + 1}`} focus={aria.id} />
          )}
        </FieldView>
      ))}
      <Hidden count={length} />
      <p class="actions" id={aria.id}>
        <button
          type="button"
          aria-label={`Add to ${label}`}
          disabled={length >= most}
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

/** The key of an entry, which a person may change. */
function Key({
  form,
  path,
  name,
  problems,
}: Pick<FieldProps, "form" | "path"> & { readonly name: string; readonly problems: readonly string[] }): JSX.Element {
  return (
    <label class="key">
      Key
      <input
        value={name}
        autocomplete="off"
        aria-invalid={problems.length > 0}
        onInput={(event) => form.edit(path, { kind: "rename", name: event.currentTarget.value })}
      />
      <span class="problem">{problems.join(" ")}</span>
    </label>
  );
}

function Remove({
  form,
  path,
  label,
  focus,
}: Pick<FieldProps, "form" | "path" | "label"> & { readonly focus: string }): JSX.Element {
  return (
    <button
      type="button"
      class="remove"
      aria-label={`Remove ${label}`}
      onClick={() => form.edit(path, { kind: "remove" }, focus)}
    >
      ×
    </button>
  );
}

function Hidden({ count }: { readonly count: number }): JSX.Element | null {
  return count <= MAX_SHOWN ? null : <p class="dim">{count - MAX_SHOWN} more are in the text.</p>;
}
