/** Lines of generated files are kept to this where they can be. */
export const MAX_WIDTH: number = 120;

/**
 * Text with places where it may be broken into lines, after Wadler's "A prettier printer" and as formatters lay code out: a group
 * stays on one line where that fits, else each of its own lines breaks.
 */
export type Layout = string | readonly Layout[] | Group | Indent | Line | IfBroken | Moved;

interface Group {
  readonly kind: "group";
  readonly content: Layout;
  /** It does not stay on one line. */
  readonly broken: boolean;
  /** Ways to lay it out, of which the first that fits is taken, or the last. */
  readonly ways?: readonly Layout[];
  /** It is a call with a function among its arguments. */
  readonly takesFunction?: boolean;
}
interface Indent {
  readonly kind: "indent";
  readonly content: Layout;
}
interface Line {
  readonly kind: "line";
  /** The text where the line does not break; undefined where it always does. */
  readonly flat: string | undefined;
}
interface IfBroken {
  readonly kind: "ifBroken";
  readonly text: string;
}

/** A space, or a line break. */
export const line: Layout = { kind: "line", flat: " " };
/** Nothing, or a line break. */
export const softLine: Layout = { kind: "line", flat: "" };
export const hardLine: Layout = { kind: "line", flat: undefined };
interface Moved {
  readonly kind: "moved";
  readonly content: Layout;
}

export function group(content: Layout, broken: boolean = isBroken(content)): Layout {
  return { kind: "group", content, broken };
}

/** The first of `ways` that fits, each of which may break at its end only; else the last. */
export function firstThatFits(...ways: readonly Layout[]): Layout {
  return { kind: "group", content: ways[0] ?? "", broken: false, ways };
}

export function indent(...content: readonly Layout[]): Layout {
  return { kind: "indent", content };
}

/** `call`, a group, as one that takes a function. */
export function takingFunction(call: Layout): Layout {
  return typeof call === "object" && "kind" in call && call.kind === "group" ? { ...call, takesFunction: true } : call;
}

export function takesFunction(layout: Layout): boolean {
  return typeof layout === "object" && "kind" in layout && layout.kind === "group" && layout.takesFunction === true;
}

/** `text` where the group around it breaks. */
export function ifBroken(text: string): Layout {
  return { kind: "ifBroken", text };
}

/** A space and `content`; where not even the beginning of it has room, `content` on the next line. */
export function moved(content: Layout): Layout {
  return { kind: "moved", content };
}

export function join(items: readonly Layout[], separator: Layout): Layout[] {
  const joined: Layout[] = [];
  for (const item of items) {
    if (joined.length > 0) joined.push(separator);
    joined.push(item);
  }
  return joined;
}

/** Whether `layout` breaks whatever the width. */
export function isBroken(layout: Layout): boolean {
  if (typeof layout === "string") return false;
  if (isList(layout)) return layout.some(isBroken);
  switch (layout.kind) {
    case "group":
      return layout.broken || (layout.ways !== undefined && layout.ways.every(isBroken));
    case "indent":
    case "moved":
      return isBroken(layout.content);
    case "line":
      return layout.flat === undefined;
    case "ifBroken":
      return false;
  }
}

/** One thing left to print: at an indentation, on one line or not. */
interface Rest {
  readonly indent: number;
  readonly flat: boolean;
  readonly layout: Layout;
}

/** The text of `layout`, which starts at the beginning of a line. */
export function render(layout: Layout): string {
  const out: string[] = [];
  let column = 0;
  const rest: Rest[] = [{ indent: 0, flat: false, layout }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { indent, flat, layout } = next;
    if (typeof layout === "string") {
      out.push(layout);
      column += layout.length;
    } else if (isList(layout)) {
      for (let i = layout.length - 1; i >= 0; i--) rest.push({ indent, flat, layout: layout[i] ?? "" });
    } else if (layout.kind === "indent") {
      rest.push({ indent: indent + 2, flat, layout: layout.content });
    } else if (layout.kind === "moved") {
      const here = { indent, flat, layout: [" ", layout.content] };
      rest.push(
        fits(here, MAX_WIDTH - column, rest) ? here : { indent: indent + 2, flat, layout: [hardLine, layout.content] },
      );
    } else if (layout.kind === "ifBroken") {
      if (!flat) rest.push({ indent, flat, layout: layout.text });
    } else if (layout.kind === "line") {
      if (flat && layout.flat !== undefined) {
        out.push(layout.flat);
        column += layout.flat.length;
      } else {
        out.push("\n", " ".repeat(indent));
        column = indent;
      }
    } else {
      rest.push(wayOf(layout, indent, flat, column, rest));
    }
  }
  return out.join("");
}

/** How a group is printed at `column`. */
function wayOf(group: Group, indent: number, flat: boolean, column: number, rest: readonly Rest[]): Rest {
  const { content, broken, ways } = group;
  if (flat && !broken) return { indent, flat, layout: content };
  if (ways !== undefined) {
    const found = ways.find((way) => fits({ indent, flat: true, layout: way }, MAX_WIDTH - column, rest));
    return found === undefined
      ? { indent, flat: false, layout: ways.at(-1) ?? content }
      : { indent, flat: true, layout: found };
  }
  const oneLine = { indent, flat: true, layout: content };
  return !broken && fits(oneLine, MAX_WIDTH - column, rest) ? oneLine : { indent, flat: false, layout: content };
}

/** Whether `first`, and what stands behind it up to the next line break, has room in `width` columns. */
function fits(first: Rest, width: number, after: readonly Rest[]): boolean {
  const rest: Rest[] = [first];
  let left = width;
  let index = after.length;
  while (left >= 0) {
    const next = rest.pop() ?? after[--index];
    if (next === undefined) return true;
    const { indent, flat, layout } = next;
    if (typeof layout === "string") left -= layout.length;
    else if (isList(layout)) {
      for (let i = layout.length - 1; i >= 0; i--) rest.push({ indent, flat, layout: layout[i] ?? "" });
    } else if (layout.kind === "indent") rest.push({ indent, flat, layout: layout.content });
    else if (layout.kind === "moved") {
      if (!flat) return true;
      rest.push({ indent, flat, layout: [" ", layout.content] });
    } else if (layout.kind === "ifBroken") left -= flat ? 0 : layout.text.length;
    else if (layout.kind === "line") {
      if (!flat || layout.flat === undefined) return true;
      left -= layout.flat.length;
    } else {
      const { broken, ways, content } = layout;
      const isFlat = flat && !broken;
      rest.push({ indent, flat: isFlat, layout: isFlat || ways === undefined ? content : (ways.at(-1) ?? content) });
    }
  }
  return false;
}

function isList(layout: Layout): layout is readonly Layout[] {
  return Array.isArray(layout);
}
