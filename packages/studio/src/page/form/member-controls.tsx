import type { JSX } from "preact";
import type { FieldProps } from "./form-context.js";

/** Members and items that a form shows; there may be more in the text. */
export const MAX_SHOWN = 100;

/** The key of an entry, which a person may change. */
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

/** Takes a member or an item out of the value. */
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

/** Tells how many members or items a form does not show. */
export function Hidden({ count }: { readonly count: number }): JSX.Element | null {
  return count <= MAX_SHOWN ? null : <p class="dim">{count - MAX_SHOWN} more are in the text.</p>;
}
