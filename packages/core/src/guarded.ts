/** Runs a hook of the application's. What it throws must not cost the call: it goes to the platform's own hook. */
export function guarded<Arguments extends unknown[]>(
  hook: (...given: Arguments) => void,
): (...given: Arguments) => void {
  return (...given) => {
    try {
      hook(...given);
    } catch (thrown) {
      queueMicrotask(() => {
        throw thrown;
      });
    }
  };
}
