/**
 * Runs a hook of the application. If it throws or rejects, `report` receives the error (by default it is logged to the
 * console), and neither the call nor the process fails.
 */
export function guarded<Arguments extends unknown[]>(
  hook: (...args: Arguments) => unknown,
  report: (thrown: unknown) => void = logHook,
): (...args: Arguments) => void {
  return (...args) => {
    try {
      const result = hook(...args);
      if (result instanceof Promise) result.catch(report);
    } catch (thrown) {
      report(thrown);
    }
  };
}

// oxlint-disable-next-line no-console -- an exception must not pass unseen, and must not end the process
const logHook = (thrown: unknown): void => console.error("quicrpc: a hook failed:", thrown);
