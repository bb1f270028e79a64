import { classHighlighter, highlightCode } from "@lezer/highlight";
import { parser } from "@lezer/json";
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";

/** Maximum length in characters of a text with syntax highlighting. */
const MAX_COLOURED = 50_000;

/** Shows JSON with syntax highlighting. */
export function JsonText({ text }: { readonly text: string }): JSX.Element {
  const parts = useMemo(() => colouredParts(text), [text]);
  return <>{parts}</>;
}

function colouredParts(text: string): ComponentChildren {
  if (text.length > MAX_COLOURED) return text;
  const parts: ComponentChildren[] = [];
  const push = (code: string, classes: string): void =>
    void parts.push(classes === "" ? code : <span class={classes}>{code}</span>);
  highlightCode(text, parser.parse(text), classHighlighter, push, () => push("\n", ""));
  return parts;
}
