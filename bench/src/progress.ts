/** One line that says what is going on, where someone looks; without a text it goes. */
export function progress(text = ""): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
