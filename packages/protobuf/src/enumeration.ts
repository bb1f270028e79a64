import { misfit } from "@quicrpc/core/codec";
import { readInt32, type Reader } from "./reader.js";
import { writeInt32 } from "./writer.js";

/** Reads and writes a protobuf enum whose values are strings in the schema. */
export class Enumeration {
  private readonly numbers: ReadonlyMap<unknown, number>;
  private readonly texts: ReadonlyMap<number, string>;

  constructor(members: readonly (readonly [text: string, number: number])[]) {
    this.numbers = new Map(members);
    this.texts = new Map(members.map(([text, number]) => [number, text]));
  }

  /**
   * Reads a value. Returns undefined for number 0 if no string has it, and unknown numbers as they are, which the
   * schema then refuses.
   */
  readonly read = (r: Reader, end: number): string | number | undefined => {
    const number = readInt32(r, end);
    return this.texts.get(number) ?? (number === 0 ? undefined : number);
  };

  readonly write = (b: Uint8Array, p: number, value: unknown): number =>
    writeInt32(b, p, this.numbers.get(value) ?? misfit());
}
