import { useLayoutEffect } from "preact/hooks";

/**
 * Keyboard shortcuts of the page, in the order in which they are listed. Keys without `Mod` have no effect while the
 * user types.
 */
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

/**
 * Binds a key to an action while the component is shown (a hook). If `act` is undefined, the key has no effect. If
 * several components bind the same key, the latest one is used.
 */
export function useShortcut(name: ShortcutName, act: (() => void) | undefined): void {
  useLayoutEffect(() => {
    if (act === undefined) return;
    handlers.set(name, act);
    return () => {
      if (handlers.get(name) === act) handlers.delete(name);
    };
  }, [name, act]);
}

/**
 * Returns true if keys without Ctrl have an effect. Users of speech input, or with a tremor, can disable such keys
 * (WCAG 2.1.4).
 */
export function singleKeys(): boolean {
  return localStorage.getItem(SINGLE_KEYS) !== "off";
}

export function setSingleKeys(isOn: boolean): void {
  localStorage.setItem(SINGLE_KEYS, isOn ? "on" : "off");
}

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

/** Returns true if the focused element uses keys itself, for text input or to select from a list. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !/^(button|checkbox|radio|file)$/.test(target.type);
  return target.isContentEditable || target.matches("textarea, select");
}

export function keyLabel(key: string): string {
  return key.replace("Mod+", /mac|iphone|ipad/i.test(navigator.platform) ? "⌘ " : "Ctrl ");
}
