import type { JSX } from "preact";
import type { FieldProps } from "./form-context.js";

/** Maximum number of members or items of a value that a form shows. The text may contain more. */
export const MAX_SHOWN = 100;

export function Key({
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

export function Remove({
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

export function Hidden({ count }: { readonly count: number }): JSX.Element | null {
  return count <= MAX_SHOWN ? null : <p class="dim">{count - MAX_SHOWN} more are in the text.</p>;
}
