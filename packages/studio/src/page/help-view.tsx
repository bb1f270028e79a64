import type { JSX } from "preact";
import { useCallback, useRef, useState } from "preact/hooks";
import { keyLabel, setSingleKeys, SHORTCUTS, singleKeys, useShortcut } from "./shortcuts.js";

/** Button that shows the list of keyboard shortcuts. The key "?" opens it as well. */
export function HelpView(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [single, setSingle] = useState(singleKeys);
  const open = useCallback(() => dialog.current?.showModal(), []);
  useShortcut("help", open);
  return (
    <>
      <button
        type="button"
        class="quiet"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts ( ? )"
        onClick={open}
      >
        ?
      </button>
      <dialog ref={dialog} aria-labelledby="help-title">
        <h2 id="help-title">Keyboard</h2>
        <dl class="keys">
          {Object.entries(SHORTCUTS).map(([name, { key, does }]) => (
            <div key={name}>
              <dt>
                <kbd>{keyLabel(key)}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <p class="dim">
          In lists and tabs the arrow keys lead on. In the editor, <kbd>{keyLabel("Mod+")}Space</kbd> completes, and Tab
          leaves it.
        </p>
        <label>
          <input
            type="checkbox"
            checked={single}
            onChange={({ currentTarget: { checked } }) => {
              setSingleKeys(checked);
              setSingle(checked);
            }}
          />{" "}
          Keys without {keyLabel("Mod+").trim()} act
        </label>
        <form method="dialog" class="actions">
          <button type="submit" class="primary">
            Close
          </button>
        </form>
      </dialog>
    </>
  );
}
