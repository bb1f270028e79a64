/** The colours of a drawing. */
export interface Colors {
  readonly paper: string;
  readonly box: string;
  readonly group: string;
  readonly line: string;
  readonly arrow: string;
  readonly text: string;
  readonly quiet: string;
  readonly own: string;
  readonly other: string;
  readonly bad: string;
}

/** The fonts of a drawing's words. */
export const FONT: string;

/** The styles of a drawing, from its rules for either set of colours: it follows the page that shows it. */
export function style(rules: (colors: Colors) => string): string;

/** The ground of a drawing. It has one of its own, since some programs show it in other colours than those of the page. */
export function paper(place: {
  readonly x?: number;
  readonly y?: number;
  readonly width: number;
  readonly height: number;
}): string;
