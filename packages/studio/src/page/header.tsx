import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { HelpView } from "./help-view.js";
import { useObserved } from "./observed.js";
import type { ServerTarget } from "./target.js";

export interface HeaderProps {
  readonly target: ServerTarget;
  readonly title: string;
  readonly onReload: () => void;
  /** Called to show or hide the list of methods on a small screen. */
  readonly onChoose: () => void;
}

/** Shows the server's URL, and buttons that affect the whole page. */
export function Header({ target, title, onReload, onChoose }: HeaderProps): JSX.Element {
  useObserved(target);
  return (
    <header>
      <button type="button" class="quiet menu" aria-label="Methods and requests" onClick={onChoose}>
        ☰
      </button>
      <h1>{title}</h1>
      <p class="target">
        <State target={target} />
        <span class="url">{target.url}</span>
      </p>
      {!target.describesItself && <p class="dim">Services are those of the command's schemas.</p>}
      <span class="tools">
        <button type="button" class="quiet" title="Ask the server again what it serves" onClick={onReload}>
          Reload
        </button>
        <Theme />
        <HelpView />
      </span>
    </header>
  );
}

function State({ target }: { readonly target: ServerTarget }): JSX.Element | null {
  const last = target.samples.at(-1)?.sample;
  if (last === undefined) return null;
  const { rttMs } = last.stats;
  return (
    <span class={`state ${last.status}`} title={last.error}>
      {last.status}
      {rttMs === undefined || rttMs === null ? "" : `, ${rttMs.toFixed(1)} ms`}
    </span>
  );
}

const THEMES = ["light dark", "light", "dark"] as const;

function Theme(): JSX.Element {
  const [theme, setTheme] = useState(() => localStorage.getItem("quicrpc-studio:theme") ?? THEMES[0]);
  useEffect(() => {
    document.documentElement.style.colorScheme = theme;
    localStorage.setItem("quicrpc-studio:theme", theme);
  }, [theme]);
  return (
    <select class="quiet" aria-label="Colors" value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
      <option value="light dark">System</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
