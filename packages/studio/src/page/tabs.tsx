import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";

export interface TabsProps<Name extends string> {
  readonly label: string;
  /** Id of the tabs' panel, and prefix of the tabs' own ids. */
  readonly id: string;
  readonly names: readonly Name[];
  readonly current: Name;
  readonly onChoose: (name: Name) => void;
  /** Returns content to show next to a tab's name. */
  readonly mark?: (name: Name) => ComponentChildren;
}

/** A list of tabs. A click or the arrow keys select one. */
export function Tabs<Name extends string>({ label, id, names, current, onChoose, mark }: TabsProps<Name>): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = names.indexOf(current);
    const last = names.length - 1;
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[
      event.key
    ];
    const name = to === undefined ? undefined : names[to];
    if (name === undefined) return;
    event.preventDefault();
    onChoose(name);
    list.current?.querySelectorAll("button")[to as number]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`${id}-${name}`}
          aria-selected={name === current}
          aria-controls={id}
          tabIndex={name === current ? 0 : -1}
          onClick={() => onChoose(name)}
        >
          {name}
          {mark?.(name)}
        </button>
      ))}
    </div>
  );
}
