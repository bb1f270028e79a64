import { useLayoutEffect } from "preact/hooks";

/** Shortcuts of the page, in the order in which they are listed. Keys without `Mod` are not taken from one who types. */
export const SHORTCUTS = {
  run: { key: "Mod+Enter", does: "Call; of a call that takes messages, send one" },
  search: { key: "/", does: "Search methods" },
  next: { key: "j", does: "The next method" },
  previous: { key: "k", does: "The method before" },
  message: { key: "m", does: "To the message" },
  answer: { key: "a", does: "To the answer" },
  messages: { key: "1", does: "Messages" },
  headers: { key: "2", does: "Headers" },
  timing: { key: "3", does: "Timing" },
  network: { key: "4", does: "Network" },
  pause: { key: "p", does: "Pause a stream, or resume it" },
  end: { key: "e", does: "End of messages" },
  cancel: { key: "x", does: "Cancel the call" },
  keep: { key: "s", does: "Keep the request" },
  copy: { key: "y", does: "Copy the call as something else" },
  help: { key: "?", does: "This list" },
} as const;

export type ShortcutName = keyof typeof SHORTCUTS;

const SINGLE_KEYS = "quicrpc-studio:single-keys";
const handlers = new Map<ShortcutName, () => void>();

/** Has a key do something for as long as the component is shown; nothing where there is nothing to do. The next key finds what was shown last. */
export function useShortcut(name: ShortcutName, act: (() => void) | undefined): void {
  useLayoutEffect(() => {
    if (act === undefined) return;
    handlers.set(name, act);
    return () => {
      if (handlers.get(name) === act) handlers.delete(name);
    };
  }, [name, act]);
}

/** Whether keys without Ctrl act: who speaks to the computer, or types with tremor, turns them off (WCAG 2.1.4). */
export function singleKeys(): boolean {
  return localStorage.getItem(SINGLE_KEYS) !== "off";
}

export function setSingleKeys(on: boolean): void {
  localStorage.setItem(SINGLE_KEYS, on ? "on" : "off");
}

/** Has the document's keys act. */
export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    const name = nameOf(event);
    const act = name && handlers.get(name);
    if (act === undefined || document.querySelector("dialog[open]") !== null) return;
    event.preventDefault();
    act();
  });
}

function nameOf(event: KeyboardEvent): ShortcutName | undefined {
  const { key, ctrlKey, metaKey, altKey, target } = event;
  if (key === "Enter") return ctrlKey || metaKey ? "run" : undefined;
  if (ctrlKey || metaKey || altKey || !singleKeys() || isTyping(target)) return undefined;
  return (Object.keys(SHORTCUTS) as ShortcutName[]).find((name) => SHORTCUTS[name].key === key);
}

/** Whether keys are text where the focus is, or choose from a list. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !/^(button|checkbox|radio|file)$/.test(target.type);
  return target.isContentEditable || target.matches("textarea, select");
}

/** A key as the keyboard of this machine is labelled. */
export function keyLabel(key: string): string {
  return key.replace("Mod+", /mac|iphone|ipad/i.test(navigator.platform) ? "⌘ " : "Ctrl ");
}
