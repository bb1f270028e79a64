import type { JSX } from "preact";
import { useObserved } from "./observed.js";
import type { RunningCall } from "./running-call.js";
import { keyLabel, SHORTCUTS, useShortcut } from "./shortcuts.js";

export interface CallButtonsProps {
  readonly call: RunningCall | undefined;
  /** True if the user sends the messages of the call one at a time. */
  readonly streamsInput: boolean;
  readonly onRun: () => void;
}

/** Shows the buttons that start a call, send its messages and end it. */
export function CallButtons({ call, streamsInput, onRun }: CallButtonsProps): JSX.Element {
  useObserved(call);
  const isRunning = call?.status === "running";
  const takesInput = call?.takesInput === true;
  const end = takesInput ? () => call.halfClose() : undefined;
  const cancel = isRunning ? () => call.cancel() : undefined;
  const isWaiting = isRunning && streamsInput && !takesInput;
  useShortcut("run", isWaiting ? undefined : onRun);
  useShortcut("end", end);
  useShortcut("cancel", cancel);
  return (
    <div class="actions">
      {end !== undefined && (
        <button type="button" onClick={end}>
          End of messages
        </button>
      )}
      {cancel !== undefined && (
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      )}
      <button type="button" class="primary" title={keyLabel(SHORTCUTS.run.key)} onClick={onRun} disabled={isWaiting}>
        {takesInput ? "Send" : streamsInput ? "Begin" : "Call"}
      </button>
    </div>
  );
}
