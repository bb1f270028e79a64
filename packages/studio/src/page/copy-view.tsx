import type { JSX } from "preact";
import { useCallback, useRef, useState } from "preact/hooks";
import type { ChosenFiles } from "./blob-inputs.js";
import type { ShownMethod } from "./catalog.js";
import { asCommand, asCurl, asTypeScript, type Copyable } from "./copy-as.js";
import { locationHash } from "./location.js";
import { type CallSettings, metadataFieldsOf } from "./settings.js";
import { useShortcut } from "./shortcuts.js";
import type { ServerTarget } from "./target.js";

export interface CopyAsProps {
  readonly method: ShownMethod;
  readonly target: ServerTarget;
  readonly input: string;
  readonly files: ChosenFiles;
  readonly bytesFile: string | undefined;
  readonly settings: CallSettings;
}

const FORMS: Readonly<Record<string, (request: Copyable) => string>> = {
  TypeScript: asTypeScript,
  quicrpc: asCommand,
  curl: asCurl,
  link: ({ method: { service, name }, input }) =>
    new URL(locationHash({ service, method: name, input }), location.href).href,
};

interface Copied {
  readonly text: string;
  readonly status: string;
}

/** Shows buttons that copy the call as a command or a program, and the copied text. */
export function CopyAs({ method, target, input, files, bytesFile, settings }: CopyAsProps): JSX.Element {
  const [copied, setCopied] = useState<Copied>();
  const first = useRef<HTMLButtonElement>(null);
  useShortcut(
    "copy",
    useCallback(() => first.current?.focus(), []),
  );
  const copy = async (form: string): Promise<void> => {
    const { url, httpUrl, trust } = target;
    let text = "";
    try {
      const metadata = metadataFieldsOf(settings.metadata);
      text = FORMS[form]?.({ ...settings, method, url, httpUrl, trust, input, files, bytesFile, metadata }) ?? "";
      await navigator.clipboard.writeText(text);
      setCopied({ text, status: `copied as ${form}` });
    } catch (error) {
      // The clipboard is not available to a page over http://, except on localhost. The user can select the text
      // instead.
      const failure = text === "" ? (error instanceof Error ? error.message : String(error)) : "";
      setCopied({ text, status: failure === "" ? "The browser does not let this page copy: select it." : failure });
    }
  };
  return (
    <>
      <div class="actions copy" role="group" aria-label="Copy as">
        <span class="dim">Copy as</span>
        {Object.keys(FORMS).map((form, index) => (
          <button key={form} type="button" ref={index === 0 ? first : null} onClick={() => void copy(form)}>
            {form}
          </button>
        ))}
        <span role="status" class="dim">
          {copied?.status}
        </span>
      </div>
      {copied !== undefined && copied.text !== "" && (
        <div class="copied">
          <pre tabIndex={0} role="region" aria-label="Copied">
            {copied.text}
          </pre>
          <button type="button" class="quiet" aria-label="Hide what was copied" onClick={() => setCopied(undefined)}>
            ×
          </button>
        </div>
      )}
    </>
  );
}
