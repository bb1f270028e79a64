import type { JSX } from "preact";
import type { ShownMethod } from "./catalog.js";

/** Files that the user has selected, by blob field. */
export type ChosenFiles = Readonly<Record<string, File>>;

export interface BlobInputsProps {
  readonly method: ShownMethod;
  readonly files: ChosenFiles;
  readonly onChange: (files: ChosenFiles) => void;
}

/** Shows a file input for each blob field of a message. The user can select a file or drop it. */
export function BlobInputs({ method, files, onChange }: BlobInputsProps): JSX.Element | null {
  const fields = method.blobs.input ?? [];
  if (fields.length === 0) return null;
  const setFile = (name: string, file: File | undefined): void => {
    const { [name]: _, ...otherFiles } = files;
    onChange(file === undefined ? otherFiles : { ...otherFiles, [name]: file });
  };
  return (
    <>
      {fields.map(({ name, maxBytes, resumable }) => {
        const file = files[name];
        const isTooLarge = file !== undefined && maxBytes !== undefined && file.size > maxBytes;
        return (
          <fieldset
            key={name}
            class="field drop"
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault();
              setFile(name, event.dataTransfer?.files[0]);
            }}
          >
            <legend>{name}</legend>
            <input
              type="file"
              aria-label={`${name}, a file`}
              onChange={(event) => setFile(name, event.currentTarget.files?.[0])}
            />
            <p class="said">
              <span role="status" class={isTooLarge ? "problem" : ""}>
                {file === undefined ? "No file: drop one here, or choose it." : `${file.name}, ${file.size} bytes.`}
                {isTooLarge ? " The server will refuse it." : ""}
              </span>
              <span class="dim">
                {maxBytes === undefined ? "" : `At most ${maxBytes} bytes. `}
                {resumable === true ? "Goes on where it was after the loss of its session." : ""}
              </span>
            </p>
          </fieldset>
        );
      })}
    </>
  );
}
