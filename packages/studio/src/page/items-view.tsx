import { jsonOf } from "@quicrpc/services";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LoggedItem } from "./item-log.js";
import { JsonText } from "./json-text.js";
import { useObserved } from "./observed.js";
import type { RunningCall } from "./running-call.js";

const ROW_HEIGHT = 26;
/** Number of rows that are rendered above and below the visible ones, so that fast scrolling shows no gap. */
const MARGIN_ROWS = 6;
/** Maximum number of characters of a row. */
const MAX_ROW = 300;
/** Maximum number of characters of a message that is shown completely. */
const MAX_SHOWN = 200_000;

/**
 * Shows the messages of a call. Messages of a stream are shown in a list, of which only the visible rows are rendered.
 */
export function ItemsView({ call }: { readonly call: RunningCall }): JSX.Element {
  useObserved(call);
  const [selected, setSelected] = useState<LoggedItem>();
  const { method, messages } = call;
  const last = messages.at(messages.length - 1);
  // If the output is not streamed, the received message is the response.
  const response = method.streamsOutput || last?.isSent === true ? undefined : last;
  return (
    <>
      {(method.streamsOutput || method.streamsInput) && (
        <ItemList call={call} selected={selected} onSelect={setSelected} />
      )}
      {selected !== undefined && (
        <Message
          value={selected.value}
          label={`Message ${selected.number}, ${selected.isSent ? "sent" : "received"}`}
        />
      )}
      {selected === undefined && response !== undefined && <Message value={response.value} label="Answer" />}
    </>
  );
}

interface ItemListProps {
  readonly call: RunningCall;
  readonly selected: LoggedItem | undefined;
  readonly onSelect: (item: LoggedItem | undefined) => void;
}

function ItemList({ call: { messages }, selected, onSelect }: ItemListProps): JSX.Element | null {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 300 });
  const [follows, setFollows] = useState(true);
  const { length, forgotten } = messages;

  const onScroll = (): void => {
    if (box.current === null) return;
    const { scrollTop, clientHeight, scrollHeight } = box.current;
    setView({ top: scrollTop, height: clientHeight });
    setFollows(scrollTop + clientHeight >= scrollHeight - ROW_HEIGHT);
  };
  useLayoutEffect(() => {
    if (follows && box.current !== null) box.current.scrollTop = length * ROW_HEIGHT;
  }, [length, messages.count, follows]);
  useLayoutEffect(() => {
    if (box.current === null) return;
    const resized = new ResizeObserver(onScroll);
    resized.observe(box.current);
    return () => resized.disconnect();
  }, [length === 0]);

  if (length === 0) return null;
  const select = (index: number): void => {
    const at = Math.max(0, Math.min(length - 1, index));
    onSelect(messages.at(at));
    const { current } = box;
    if (current === null) return;
    const top = at * ROW_HEIGHT;
    if (top < current.scrollTop) current.scrollTop = top;
    else if (top + ROW_HEIGHT > current.scrollTop + current.clientHeight)
      current.scrollTop = top + ROW_HEIGHT - current.clientHeight;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = selected === undefined ? undefined : selected.number - 1 - forgotten;
    const page = Math.max(1, Math.floor(view.height / ROW_HEIGHT) - 1);
    const to = {
      ArrowDown: at === undefined ? length - 1 : at + 1,
      ArrowUp: at === undefined ? length - 1 : at - 1,
      PageDown: (at ?? 0) + page,
      PageUp: (at ?? length) - page,
      Home: 0,
      End: length - 1,
    }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      select(to);
    } else if (event.key === "Escape") onSelect(undefined);
  };
  const from = Math.max(0, Math.floor(view.top / ROW_HEIGHT) - MARGIN_ROWS);
  const to = Math.min(length, Math.ceil((view.top + view.height) / ROW_HEIGHT) + MARGIN_ROWS);
  const rows = Array.from({ length: Math.max(0, to - from) }, (_, index) => messages.at(from + index)).filter(
    (item) => item !== undefined,
  );
  return (
    <div
      class="items"
      ref={box}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
      tabIndex={0}
      role="listbox"
      aria-label="Messages"
      aria-activedescendant={rows.some((item) => item === selected) ? `message-${selected?.number}` : undefined}
    >
      <div role="presentation" style={{ height: `${length * ROW_HEIGHT}px`, position: "relative" }}>
        {rows.map((item, index) => (
          <div
            role="option"
            id={`message-${item.number}`}
            aria-selected={item === selected}
            aria-setsize={length}
            aria-posinset={from + index + 1}
            key={item.number}
            class={`row ${item.isSent ? "sent" : "received"}`}
            style={{ top: `${(from + index) * ROW_HEIGHT}px`, height: `${ROW_HEIGHT}px` }}
            onClick={() => onSelect(item)}
          >
            <span class="way">{item.isSent ? "↑" : "↓"}</span>
            <span class="number">{item.number}</span>
            <span class="text">{rowText(item)}</span>
            <span class="at">{timeOf(item.atMs)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

/** Texts of rows by message. They are cached, because formatting a large message is slow. */
const rowTexts = new WeakMap<LoggedItem, string>();

function rowText(item: LoggedItem): string {
  const rowContent = rowTexts.get(item) ?? boundedJson(item.value, MAX_ROW);
  rowTexts.set(item, rowContent);
  return rowContent;
}

function timeOf(ms: number): string {
  return ms < 10_000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function Message({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  const text = useMemo(() => boundedJson(value, Number.POSITIVE_INFINITY, 2), [value]);
  const isCut = text.length > MAX_SHOWN;
  return (
    <div class="message">
      <p class="actions">
        <span class="dim">
          {label}
          {isCut && `: the first ${MAX_SHOWN.toLocaleString("en")} of ${text.length.toLocaleString("en")} characters`}
        </span>
        <button type="button" onClick={() => void navigator.clipboard?.writeText(text)}>
          Copy
        </button>
        <button type="button" onClick={() => downloadFile(text, "message.json")}>
          Save
        </button>
        {value instanceof Uint8Array && (
          <button type="button" onClick={() => downloadFile(value)}>
            Save {value.length} bytes
          </button>
        )}
      </p>
      <pre tabIndex={0} aria-label={label} role="region">
        <JsonText text={isCut ? `${text.slice(0, MAX_SHOWN)}…` : text} />
      </pre>
    </div>
  );
}

export function boundedJson(value: unknown, maxLength: number, indent?: number): string {
  let text: string;
  try {
    text = JSON.stringify(jsonOf(value), undefined, indent) ?? "(nothing)";
  } catch (error) {
    text = String(error);
  }
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

export function downloadFile(bytes: Uint8Array | string, name: string = "message.bin"): void {
  const url = URL.createObjectURL(new Blob([bytes as BlobPart]));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
