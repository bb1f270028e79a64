/** The element of the page with this id. */
export function byId<E extends Element = HTMLElement>(id: string): E {
  return document.getElementById(id) as unknown as E;
}

/** A copy of what the template holds, and its parts by their selectors. */
export function fromTemplate(id: string): { root: HTMLElement; part: <E extends HTMLElement>(selector: string) => E } {
  const root = byId<HTMLTemplateElement>(id).content.firstElementChild?.cloneNode(true) as HTMLElement;
  return { root, part: <E extends HTMLElement>(selector: string) => root.querySelector(selector) as E };
}

/** As a person reads it: `1.4 MB`. */
export function readableSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
