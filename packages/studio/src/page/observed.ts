import { useEffect, useState } from "preact/hooks";

/** An object that is shown, and says when it has changed. Changes of one frame are shown at once. */
export class Observed {
  private readonly listeners: Set<() => void> = new Set();
  private isDue = false;

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  protected changed(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      for (const listener of this.listeners) listener();
    });
  }
}

/** Shows a component again whenever the object changes. */
export function useObserved<T extends Observed | undefined>(observed: T): T {
  const [, show] = useState(0);
  useEffect(() => observed?.subscribe(() => show((count) => count + 1)), [observed]);
  return observed;
}
