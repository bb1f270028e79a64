import { jsonOf } from "@quicrpc/services";
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { LoggedItem } from "./item-log.js";
import { useObserved } from "./observed.js";
import type { RunningCall } from "./running-call.js";

const ROW_HEIGHT = 28;
/** Rows beyond the visible ones, so that fast scrolling shows no gap. */
const MARGIN_ROWS = 6;
/** Characters of a row. */
const MAX_ROW = 300;
/** Characters of a message that is shown in full. */
const MAX_SHOWN = 200_000;

/** The messages that a call received: only the rows that can be seen are made. */
export function ItemsView({ call }: { readonly call: RunningCall }): JSX.Element {
  useObserved(call);
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 300 });
  const [follows, setFollows] = useState(true);
  const [selected, setSelected] = useState<LoggedItem>();
  const { received } = call;
  const { length } = received;

  useLayoutEffect(() => {
    if (follows && box.current !== null) box.current.scrollTop = length * ROW_HEIGHT;
  }, [length, received.count, follows]);

  const onScroll = (): void => {
    const { scrollTop, clientHeight, scrollHeight } = box.current as HTMLDivElement;
    setView({ top: scrollTop, height: clientHeight });
    setFollows(scrollTop + clientHeight >= scrollHeight - ROW_HEIGHT);
  };
  const from = Math.max(0, Math.floor(view.top / ROW_HEIGHT) - MARGIN_ROWS);
  const to = Math.min(length, Math.ceil((view.top + view.height) / ROW_HEIGHT) + MARGIN_ROWS);
  const rows = Array.from({ length: Math.max(0, to - from) }, (_, index) => received.at(from + index)).filter(
    (item) => item !== undefined,
  );
  const shown = selected ?? (call.method.streamsOutput ? undefined : received.at(0));
  return (
    <>
      {call.method.streamsOutput && (
        <div
          class="items"
          ref={box}
          onScroll={onScroll}
          tabIndex={0}
          role="log"
          aria-label="Messages received"
          aria-live="off"
        >
          <div style={{ height: `${length * ROW_HEIGHT}px`, position: "relative" }}>
            {rows.map((item, index) => (
              <button
                type="button"
                key={item.number}
                class={item === selected ? "row selected" : "row"}
                style={{ top: `${(from + index) * ROW_HEIGHT}px`, height: `${ROW_HEIGHT}px` }}
                onClick={() => setSelected(item)}
              >
                <span class="dim">{item.number}</span> <span class="dim">{item.atMs.toFixed(0)} ms</span>{" "}
                {textOf(item.value, MAX_ROW)}
              </button>
            ))}
          </div>
        </div>
      )}
      {shown !== undefined && (
        <Message value={shown.value} label={selected === undefined ? "Answer" : `Message ${selected.number}`} />
      )}
    </>
  );
}

function Message({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  return (
    <div class="message">
      <pre tabIndex={0} aria-label={label} role="region">
        {textOf(value, MAX_SHOWN, 2)}
      </pre>
      <p class="actions">
        <button
          type="button"
          onClick={() => void navigator.clipboard.writeText(textOf(value, Number.POSITIVE_INFINITY, 2))}
        >
          Copy
        </button>
        {value instanceof Uint8Array && (
          <button type="button" onClick={() => download(value)}>
            Save {value.length} bytes
          </button>
        )}
      </p>
    </div>
  );
}

/** A value as JSON, cut where it is long. */
export function textOf(value: unknown, most: number, indent?: number): string {
  let text: string;
  try {
    text = JSON.stringify(jsonOf(value), undefined, indent) ?? "(nothing)";
  } catch (error) {
    text = String(error);
  }
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Hands bytes to the person as a file. */
export function download(bytes: Uint8Array | string, name: string = "message.bin"): void {
  const url = URL.createObjectURL(new Blob([bytes as BlobPart]));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
