import { useEffect, useState } from "preact/hooks";

/** Milliseconds between two renderings of an object. Faster changes cannot be read, and would leave the page no time. */
const MIN_MS = 60;

/** An object that is shown, and that notifies of changes. Changes within a short time are rendered together. */
export class Observed {
  private readonly listeners: Set<() => void> = new Set();
  private isDue = false;
  private shownAt = Number.NEGATIVE_INFINITY;
  private changes = 0;

  /** Number of changes. */
  get version(): number {
    return this.changes;
  }

  /** Calls `listener` for every change after the version `drawn`, including changes before this call. */
  subscribe(listener: () => void, drawn: number = this.changes): () => void {
    this.listeners.add(listener);
    if (this.changes !== drawn) listener();
    return () => void this.listeners.delete(listener);
  }

  protected changed(): void {
    this.changes++;
    if (this.isDue) return;
    this.isDue = true;
    const delayMs = this.shownAt + MIN_MS - performance.now();
    if (delayMs > 0) setTimeout(() => this.show(), delayMs);
    else this.show();
  }

  private show(): void {
    requestAnimationFrame(() => {
      this.isDue = false;
      this.shownAt = performance.now();
      for (const listener of this.listeners) listener();
    });
  }
}

/** Renders a component again whenever the object changes. */
export function useObserved<T extends Observed | undefined>(observed: T): T {
  const [, show] = useState(0);
  const drawn = observed?.version;
  // Effects run some time after their component was rendered.
  useEffect(() => observed?.subscribe(() => show((count) => count + 1), drawn), [observed]);
  return observed;
}
