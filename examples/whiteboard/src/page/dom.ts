/** Returns the element of the page with this id. */
export function byId<E extends Element = HTMLElement>(id: string): E {
  return document.getElementById(id) as unknown as E;
}

/** Returns a copy of a template's content, and a function that finds its parts by selector. */
export function fromTemplate(id: string): { root: HTMLElement; part: <E extends HTMLElement>(selector: string) => E } {
  const root = byId<HTMLTemplateElement>(id).content.firstElementChild?.cloneNode(true) as HTMLElement;
  return { root, part: <E extends HTMLElement>(selector: string) => root.querySelector(selector) as E };
}

/** Formats a size for people: `1.4 MB`. */
export function readableSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
