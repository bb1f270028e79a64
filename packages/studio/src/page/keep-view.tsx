import type { JSX } from "preact";
import { useCallback, useRef, useState } from "preact/hooks";
import { useShortcut } from "./shortcuts.js";

export interface KeepViewProps {
  /** Suggested name of the request. */
  readonly name: string;
  readonly onKeep: (name: string) => void;
}

/** Button that saves the current request under a name. */
export function KeepView({ name, onKeep }: KeepViewProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState(name);
  const open = useCallback(() => dialog.current?.showModal(), []);
  useShortcut("keep", open);
  return (
    <>
      <button type="button" onClick={open}>
        Keep
      </button>
      <dialog ref={dialog} aria-labelledby="keep-title">
        <form
          method="dialog"
          onSubmit={() => {
            if (typed.trim() !== "") onKeep(typed.trim());
          }}
        >
          <h2 id="keep-title">Keep the request</h2>
          <label>
            Name
            <input
              autocomplete="off"
              required
              maxLength={200}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
          <p class="dim">
            With its metadata, in this browser, in place of one of the same name. The list of kept requests saves them
            as a file.
          </p>
          <p class="actions">
            <button type="submit" class="primary">
              Keep it
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Not now
            </button>
          </p>
        </form>
      </dialog>
    </>
  );
}
