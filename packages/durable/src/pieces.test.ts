import { describe, expect, it } from "vitest";
import { Cursor, FrameWriter, ProtocolError } from "@quicrpc/core/internal";
import { decodeResume, encodeResume, type PieceFields, readPiece, writePiece } from "./pieces.js";

const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const TOKEN = "000102030405060708090a0b0c0d0e0f";

describe("attempts, as docs/protocol.md has their bytes", () => {
  it.each([
    [`${TOKEN} 00 800493e0 00 00`, { epoch: 0, keepMs: 300_000, received: 0, retained: 0 }],
    [`${TOKEN} 01 800493e0 4046 08`, { epoch: 1, keepMs: 300_000, received: 70, retained: 8 }],
  ])("resume %s", (hex, fields) => {
    const all = { token: bytesOf(TOKEN), ...fields };
    expect(hexOf(encodeResume(all))).toBe(hex.replaceAll(" ", ""));
    expect(decodeResume(bytesOf(hex))).toEqual(all);
  });

  it.each<[string, PieceFields, string]>([
    ["00 01 014005", { acknowledged: 0, end: true, reset: undefined, stop: undefined }, "014005"],
    ["09 00", { acknowledged: 9, end: false, reset: undefined, stop: undefined }, ""],
    ["4046 04 01", { acknowledged: 70, end: false, reset: undefined, stop: 1 }, ""],
    ["00 06 05 20", { acknowledged: 0, end: false, reset: 5, stop: 32 }, ""],
  ])("piece %s", (hex, fields, rest) => {
    const out = new FrameWriter(64);
    writePiece(out, fields, bytesOf(rest));
    expect(hexOf(out.written())).toBe(hex.replaceAll(" ", ""));
    const bytes = bytesOf(hex);
    const cursor = new Cursor(bytes, 0, bytes.length);
    expect(readPiece(cursor)).toEqual(fields);
    expect(hexOf(cursor.rest())).toBe(rest);
  });

  it.each(["00 08", "00", "", "00 02"])("no piece: %s", (hex) => {
    const bytes = bytesOf(hex);
    expect(() => readPiece(new Cursor(bytes, 0, bytes.length))).toThrow(ProtocolError);
  });

  it.each(["0001", `${TOKEN} 00 80`, TOKEN])("no attempt: %s", (hex) => {
    expect(() => decodeResume(bytesOf(hex))).toThrow(ProtocolError);
  });
});
