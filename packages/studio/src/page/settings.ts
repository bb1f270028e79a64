/** Settings that a person gives a call, beside its message. */
export interface CallSettings {
  /** Lines of "name: value", as they were typed. */
  readonly metadata: string;
  readonly timeoutMs?: number | undefined;
  /** Default: as the method says. */
  readonly via?: "lane" | "stream" | undefined;
  /** Messages are sent compressed. Default: they are not. */
  readonly compress?: true | undefined;
}

/** A field of metadata, as text. */
export type Field = readonly [name: string, value: string];

/** Reads lines of "name: value". Throws `TypeError` for another line. */
export function fieldsOf(text: string): readonly Field[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const at = line.indexOf(":");
      if (at < 1) throw new TypeError(`metadata is "name: value" in each line, not ${JSON.stringify(line)}`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
    });
}

/** Writes metadata as `fieldsOf` reads it. */
export function linesOf(fields: readonly Field[]): string {
  return fields.map(([name, value]) => `${name}: ${value}`).join("\n");
}
