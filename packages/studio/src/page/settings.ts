export interface CallSettings {
  /** Metadata as the user typed it: lines of the form "name: value". */
  readonly metadata: string;
  readonly timeoutMs?: number | undefined;
  /** Whether the call uses the shared lane or a stream of its own. Default: the method's setting. */
  readonly via?: "lane" | "stream" | undefined;
  /** True if sent messages are compressed. Default: not compressed. */
  readonly compress?: true | undefined;
}

export type MetadataField = readonly [name: string, value: string];

/** Parses lines of the form "name: value". Throws `TypeError` for any other line. */
export function metadataFieldsOf(text: string): readonly MetadataField[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const at = line.indexOf(":");
      if (at < 1) throw new TypeError(`metadata is "name: value" in each line, not ${JSON.stringify(line)}`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
    });
}

export function linesOf(fields: readonly MetadataField[]): string {
  return fields.map(([name, value]) => `${name}: ${value}`).join("\n");
}
