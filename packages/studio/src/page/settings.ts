/** Settings of a call, in addition to its message. */
export interface CallSettings {
  /** Lines of the form "name: value", as typed. */
  readonly metadata: string;
  readonly timeoutMs?: number | undefined;
  /** How the call travels. Default: the method's setting. */
  readonly via?: "lane" | "stream" | undefined;
  /** Whether sent messages are compressed. Default: no. */
  readonly compress?: true | undefined;
}

/** A metadata field, as text. */
export type MetadataField = readonly [name: string, value: string];

/** Parses lines of the form "name: value". Throws `TypeError` for another line. */
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

/** Formats metadata for `fieldsOf`. */
export function linesOf(fields: readonly MetadataField[]): string {
  return fields.map(([name, value]) => `${name}: ${value}`).join("\n");
}
