import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { JsonEditor, type JsonEditorProps } from "./editor.js";
import { FormView } from "./form/form-view.js";

const VIEWS = { both: "Form and JSON", form: "Form", json: "JSON" } as const;
type View = keyof typeof VIEWS;
const VIEW_KEY = "quicrpc-studio:view";

/** Editor of a message: a form created from the message's schema, the message as text, or both. */
export function MessageView(props: JsonEditorProps): JSX.Element {
  const { text, schema, isJson, onChange } = props;
  const [view, setView] = useState<View>(rememberedView);
  if (schema === undefined || !isJson) return <JsonEditor {...props} />;
  return (
    <>
      <fieldset class="views">
        <legend class="hidden">How the message is edited</legend>
        {Object.entries(VIEWS).map(([name, label]) => (
          <label key={name}>
            <input
              type="radio"
              name="view"
              checked={view === name}
              onChange={() => {
                localStorage.setItem(VIEW_KEY, name);
                setView(name as View);
              }}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <div class={`message-input ${view}`}>
        {view !== "json" && <FormView text={text} schema={schema} onChange={onChange} />}
        {view !== "form" && <JsonEditor {...props} />}
      </div>
    </>
  );
}

function rememberedView(): View {
  const view = localStorage.getItem(VIEW_KEY) ?? "";
  return view in VIEWS ? (view as View) : "both";
}
