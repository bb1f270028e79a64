import { fromBase64, toBase64 } from "@quicrpc/services/json-schema";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ControlProps } from "./field-view.js";

/** Maximum size in bytes of a file that is edited as text. */
export const MAX_FILE: number = 1024 * 1024;
/** Maximum number of base64 characters that are shown. */
const MAX_SHOWN = 2000;

/** Form field for bytes: the user edits base64 text, or selects or drops a file. */
export function BytesField({ form, node, path, label, aria }: ControlProps): JSX.Element {
  const [error, setError] = useState<string>();
  const value = typeof node.value === "string" ? node.value : "";
  const readFile = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    if (file.size > MAX_FILE) return setError(fileTooLarge(file));
    const text = toBase64(new Uint8Array(await file.arrayBuffer()));
    const isTaken = form.edit(path, { kind: "replace", value: text });
    setError(isTaken ? `${file.name} was taken.` : "The text has changed meanwhile: choose the file again.");
  };
  const taking = (file: File | undefined): void => {
    readFile(file).catch((error: unknown) => setError(String(error)));
  };
  return (
    <div
      class="parts drop"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        taking(event.dataTransfer?.files[0]);
      }}
    >
      {value.length <= MAX_SHOWN && (
        <input
          {...aria}
          aria-label={`${label}, in base64`}
          autocomplete="off"
          value={value}
          onInput={(event) => form.edit(path, { kind: "replace", value: event.currentTarget.value })}
        />
      )}
      <input
        type="file"
        aria-label={`${label}, from a file`}
        onChange={(event) => taking(event.currentTarget.files?.[0])}
      />
      <span class="dim">{sizeOf(value)}; or drop a file here</span>
      <span role="status">{error}</span>
    </div>
  );
}

export function fileTooLarge({ name, size }: File): string {
  return `${name} has ${size} bytes: at most ${MAX_FILE} are taken.`;
}

function sizeOf(text: string): string {
  const length = fromBase64(text)?.length;
  if (length === undefined) return "no base64";
  return length === 1 ? "1 byte" : `${length} bytes`;
}
