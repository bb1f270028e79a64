import { misfit } from "@quicrpc/core/generated";
import { readInt32, type Reader } from "./reader.js";
import { writeInt32 } from "./writer.js";

/** An enum whose values are texts in the schema. */
export class Enumeration {
  private readonly numbers: ReadonlyMap<unknown, number>;
  private readonly texts: ReadonlyMap<number, string>;

  constructor(members: readonly (readonly [text: string, number: number])[]) {
    this.numbers = new Map(members);
    this.texts = new Map(members.map(([text, number]) => [number, text]));
  }

  /** Reads a value. Zero means that there is none; the schema refuses other unknown numbers, which are returned. */
  readonly read = (r: Reader, end: number): string | number | undefined => {
    const number = readInt32(r, end);
    return this.texts.get(number) ?? (number === 0 ? undefined : number);
  };

  readonly write = (b: Uint8Array, p: number, value: unknown): number =>
    writeInt32(b, p, this.numbers.get(value) ?? misfit());
}
