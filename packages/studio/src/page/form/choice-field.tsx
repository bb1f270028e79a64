import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { meantChoice } from "../schema/check.js";
import { exampleOf } from "../schema/example.js";
import { choiceLabels } from "../schema/field.js";
import { choicesOf } from "../schema/schema.js";
import { type ControlProps, FieldView } from "./field-view.js";

/** A value of one of several schemas. It is of the one that it fits best, or that was chosen last. */
export function ChoiceField({ form, node, path, label, depth, field, aria }: ControlProps): JSX.Element {
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
        {choiceLabels(choices, form.root).map((text, each) => (
          <option key={each} value={each}>
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
