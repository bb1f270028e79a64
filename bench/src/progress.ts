/** Shows one line of progress on a terminal; without a text it is cleared. */
export function progress(text = ""): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
