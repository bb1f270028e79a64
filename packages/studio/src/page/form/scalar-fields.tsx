import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ControlProps } from "./field-view.js";
import { shownText } from "./form-context.js";

const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const MAX_ROWS = 8;

/** Form field for text, or for a big integer, which is text in JSON. */
export function TextField({ form, node, path, aria, field }: ControlProps): JSX.Element {
  const value = shownText(form, node);
  const write = (typed: string): boolean => form.edit(path, { kind: "replace", value: typed });
  if (field.kind === "bigint")
    return (
      <input
        {...aria}
        inputMode="numeric"
        autocomplete="off"
        value={value}
        onInput={(event) => write(event.currentTarget.value)}
      />
    );
  return (
    <textarea
      {...aria}
      rows={Math.min(MAX_ROWS, value.split("\n").length)}
      spellcheck={false}
      value={value}
      onInput={(event) => write(event.currentTarget.value)}
    />
  );
}

/** Form field for a number. Text that is not a number yet is stored as a string, which does not match the schema. */
export function NumberField({ form, node, path, aria }: ControlProps): JSX.Element {
  const value = shownText(form, node);
  return (
    <input
      {...aria}
      inputMode="decimal"
      autocomplete="off"
      value={value}
      onInput={(event) => {
        const typed = event.currentTarget.value;
        form.edit(path, { kind: "source", text: JSON_NUMBER.test(typed) ? typed : JSON.stringify(typed) });
      }}
    />
  );
}

export function BooleanField({ form, node, path, aria }: ControlProps): JSX.Element {
  return (
    <input
      {...aria}
      type="checkbox"
      checked={node.value === true}
      onChange={(event) => form.edit(path, { kind: "replace", value: event.currentTarget.checked })}
    />
  );
}

/**
 * Form field with a list of fixed values. If the text contains another value, the list includes it, marked as not
 * matching.
 */
export function EnumField({ form, node, path, aria, field }: ControlProps): JSX.Element {
  const json = JSON.stringify(node.value);
  const values = (field.schema["enum"] as readonly unknown[]).map((value) => JSON.stringify(value));
  return (
    <select
      {...aria}
      value={json}
      onChange={(event) => form.edit(path, { kind: "source", text: event.currentTarget.value })}
    >
      {[...new Set([...values, json])].map((text) => (
        <option key={text} value={text}>
          {plain(text)}
        </option>
      ))}
    </select>
  );
}

/** Shows the only value that matches the schema. */
export function ConstantField({ form, node, path, aria, field }: ControlProps): JSX.Element {
  const { "aria-invalid": _, ...ownAria } = aria;
  const { const: value = null } = field.schema;
  const isIt = node.value === value;
  return (
    <>
      <output {...ownAria}>{plain(JSON.stringify(isIt ? value : node.value))}</output>
      {!isIt && (
        <button type="button" onClick={() => form.edit(path, { kind: "replace", value })}>
          Make it {plain(JSON.stringify(value))}
        </button>
      )}
    </>
  );
}

/** Form field for a value without a known schema, edited as JSON. Incomplete JSON stays in the field. */
export function AnyField({ form, node, path, aria }: ControlProps): JSX.Element {
  const source = form.text.slice(node.from, node.to);
  const [draft, setDraft] = useState<{ readonly text: string; readonly of: string }>();
  const isDraft = draft !== undefined && draft.of === source;
  const value = isDraft ? draft.text : source;
  const write = (typed: string): void => {
    setDraft({ text: typed, of: source });
    try {
      JSON.parse(typed);
    } catch {
      return;
    }
    setDraft(undefined);
    form.edit(path, { kind: "source", text: typed });
  };
  return (
    <>
      <textarea
        {...aria}
        class="code"
        rows={Math.min(MAX_ROWS, value.split("\n").length)}
        spellcheck={false}
        value={value}
        onInput={(event) => write(event.currentTarget.value)}
      />
      {isDraft && <p class="problem">It is not valid JSON yet: the text has {source.slice(0, 100)}.</p>}
    </>
  );
}

/** Returns the text of a JSON string without its quotes. */
function plain(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}
