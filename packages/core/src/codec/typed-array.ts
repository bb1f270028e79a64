import { sentAs } from "../msgpack/write-value.js";
import { invalidType, type Shape } from "./shape.js";

export interface TypedArrayClass {
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
  new (bytes: ArrayBuffer): TypedArray;
}

export type TypedArray = ArrayBufferView & { readonly BYTES_PER_ELEMENT: number };

/**
 * Creates a run-time schema for typed arrays of the class `View`. On the wire and in JSON they are their bytes,
 * little-endian.
 */
export function typedArray(View: TypedArrayClass): Shape {
  const { name } = View;
  return {
    form: { kind: "bytes", view: name },
    run(payload, mode) {
      const given = mode.bytes === undefined ? payload.value : mode.bytes(payload.value);
      // Codecs without schemas also produce bytes, so they are converted in every mode.
      const value = given instanceof Uint8Array ? viewOf(given, View) : given;
      if (!(value instanceof View)) return invalidType(payload, name, mode);
      if (mode.isGiven === true) sentAs.set(value, bytesOf(value));
      payload.value = value;
      return payload;
    },
  };
}

/** Returns a typed array of the class `View` over `bytes`; undefined if the last element is incomplete. */
function viewOf(bytes: Uint8Array, View: TypedArrayClass): TypedArray | undefined {
  const size = View.BYTES_PER_ELEMENT;
  if (bytes.length % size !== 0) return undefined;
  // Received bytes have a buffer of their own. Other bytes are copied, so that they start at a multiple of the element
  // size.
  const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
  return new View(littleEndian(own, size).buffer as ArrayBuffer);
}

/** Returns the bytes of a typed array, little-endian. On little-endian platforms they share its memory. */
export function bytesOf(view: TypedArray): Uint8Array {
  return littleEndian(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), view.BYTES_PER_ELEMENT);
}

const isLittleEndian = /* @__PURE__ */ new Uint8Array(/* @__PURE__ */ Uint16Array.of(1).buffer)[0] === 1;

function littleEndian(bytes: Uint8Array, size: number): Uint8Array {
  if (isLittleEndian) return bytes;
  return bytes.map((_, at) => bytes[at - 2 * (at % size) + size - 1] as number);
}
