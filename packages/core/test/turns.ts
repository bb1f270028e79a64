/** Returns how many turns of the event loop passed until `work` was over, and its result. */
export async function turnsDuring<T>(work: () => Promise<T>): Promise<readonly [turns: number, result: T]> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const result = await work();
  isOver = true;
  return [turns, result];
}
