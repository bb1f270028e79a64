import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ChosenFiles } from "./blob-inputs.js";
import type { ShownMethod } from "./catalog.js";
import { asCommand, asCurl, asTypeScript, type Copyable } from "./copy-as.js";
import { hashOf } from "./place.js";
import { type CallSettings, fieldsOf } from "./settings.js";

/** Properties of `CopyAs`. */
export interface CopyAsProps {
  readonly method: ShownMethod;
  readonly url: string;
  readonly input: string;
  readonly files: ChosenFiles;
  readonly settings: CallSettings;
}

const FORMS: Readonly<Record<string, (given: Copyable) => string | undefined>> = {
  TypeScript: asTypeScript,
  "quicrpc call": asCommand,
  curl: asCurl,
  link: ({ method: { service, name }, input }) => new URL(hashOf({ service, method: name, input }), location.href).href,
};

/** Copies the call in the words of something else. */
export function CopyAs({ method, url, input, files, settings }: CopyAsProps): JSX.Element {
  const [said, setSaid] = useState("");
  const copy = async (form: string): Promise<void> => {
    const text = FORMS[form]?.({ ...settings, method, url, input, files, metadata: fieldsOf(settings.metadata) });
    if (text === undefined) return setSaid("HTTP needs a client for such a call");
    await navigator.clipboard.writeText(text);
    setSaid(`copied as ${form}`);
  };
  return (
    <>
      <select
        aria-label="Copy as"
        value=""
        onChange={(event) => {
          const form = event.currentTarget.value;
          event.currentTarget.value = "";
          copy(form).catch((error: unknown) => setSaid(String(error)));
        }}
      >
        <option value="">Copy as …</option>
        {Object.keys(FORMS).map((form) => (
          <option key={form}>{form}</option>
        ))}
      </select>
      <span role="status" class="dim">
        {said}
      </span>
    </>
  );
}
