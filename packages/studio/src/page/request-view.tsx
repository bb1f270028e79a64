import { schemaText, valueOf } from "@quicrpc/services";
import type { AnyMethod } from "@quicrpc/core/generated";
import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { BlobInputs, type ChosenFiles } from "./blob-inputs.js";
import { CallButtons } from "./call-buttons.js";
import { CallSettingsView } from "./call-settings.js";
import { CallView } from "./call-view.js";
import type { ShownMethod } from "./catalog.js";
import { CopyAs } from "./copy-view.js";
import { type KeptRequest, remember } from "./history.js";
import { KeepView } from "./keep-view.js";
import { MessageView } from "./message-view.js";
import { type CallRequest, RunningCall } from "./running-call.js";
import { exampleOf } from "./schema/example.js";
import { type CallSettings, metadataFieldsOf, linesOf } from "./settings.js";
import { useShortcut } from "./shortcuts.js";
import type { ServerTarget } from "./target.js";

export interface RequestViewProps {
  readonly method: ShownMethod;
  readonly target: ServerTarget;
  readonly nonce: string;
  /** Initial request, from a link or the history. */
  readonly prefilled: Partial<KeptRequest> | undefined;
  readonly onKept: () => void;
  /** Method of the server that reports the timings of calls. Undefined if the server has none. */
  readonly served: AnyMethod | undefined;
}

/** Editor of a method's input, and the call that the user makes with it. */
export function RequestView({ method, target, nonce, prefilled, onKept, served }: RequestViewProps): JSX.Element {
  const example = useMemo(
    () => (method.input === undefined ? "null" : JSON.stringify(exampleOf(method.input, method.input), undefined, 2)),
    [method],
  );
  const [text, setText] = useState(prefilled?.input ?? example);
  const [settings, setSettings] = useState<CallSettings>(() => settingsOf(prefilled));
  const [file, setFile] = useState<File>();
  const [files, setFiles] = useState<ChosenFiles>({});
  const [problem, setProblem] = useState<string>();
  const [call, setCall] = useState<RunningCall>();

  useEffect(() => {
    if (prefilled?.input === undefined) return;
    setText(prefilled.input);
    if (prefilled.at !== undefined) setSettings(settingsOf(prefilled));
  }, [prefilled]);
  // A call ends with the component that shows it.
  useEffect(() => () => call?.cancel(), [call]);

  const message = async (): Promise<unknown> => {
    if (method.takes === "nothing") return undefined;
    if (method.takes === "bytes")
      return file === undefined ? new TextEncoder().encode(text) : new Uint8Array(await file.arrayBuffer());
    const json = parsed(text);
    return method.input === undefined ? json : valueOf(json, method.input);
  };
  const start = async (): Promise<void> => {
    const request: CallRequest = {
      input: method.streamsInput ? undefined : await message(),
      files,
      ...settings,
      metadata: metadataFieldsOf(settings.metadata),
      isCarried: target.isCarried,
      served,
    };
    const runningCall = new RunningCall(target.caller, method, request);
    // Set before any event can arrive.
    target.onTimings = ({ call: name, timings }) => {
      if (name === runningCall.name) runningCall.setCarried(timings);
    };
    setCall(runningCall);
    const at = Date.now();
    const stop = runningCall.subscribe(() => {
      if (runningCall.status === "running") return;
      stop();
      const { totalMs: ms = 0, error, status } = runningCall;
      remember("history", {
        service: method.service,
        method: method.name,
        input: text,
        ...waysOf(settings),
        at,
        outcome: error?.code ?? status,
        ms,
      });
      onKept();
    });
  };
  const attempt = (work: () => Promise<void>): void => {
    setProblem(undefined);
    work().catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  };
  const send = async (): Promise<void> => call?.send(await message());
  const run = (): void => attempt(call?.takesInput === true ? send : start);
  const keepAs = (name: string): void =>
    attempt(async () => {
      const isKept = remember("kept", {
        name,
        service: method.service,
        method: method.name,
        input: text,
        ...waysOf(settings),
        metadata: metadataFieldsOf(settings.metadata),
        at: Date.now(),
      });
      if (!isKept) throw new Error("The request is not kept: it is too long, or the browser's storage has no room.");
      onKept();
    });
  const container = useRef<HTMLElement>(null);
  useShortcut(
    "message",
    useCallback(() => {
      const field =
        container.current?.querySelector<HTMLElement>(".cm-content") ?? container.current?.querySelector(".form input");
      if (field instanceof HTMLElement) field.focus();
    }, []),
  );
  const hasText = method.takes === "value" || (method.takes === "bytes" && file === undefined);
  return (
    <div class="request">
      <section aria-label="Request" class="pane" ref={container}>
        <div class="bar">
          <h2>
            <span class="dim">{method.service}/</span>
            <wbr />
            {method.name}
          </h2>
          <CallButtons call={call} streamsInput={method.streamsInput} onRun={run} />
        </div>
        <div class="pane-body">
          <MethodHead method={method} />
          {problem !== undefined && (
            <p class="failure" role="alert">
              {problem}
            </p>
          )}
          {method.takes === "nothing" && <p class="dim">It takes no message.</p>}
          {hasText && (
            <MessageView
              text={text}
              label={method.takes === "value" ? "Message as JSON" : "Message as text"}
              nonce={nonce}
              schema={method.input}
              isJson={method.takes === "value"}
              onChange={setText}
              onProblem={setProblem}
            />
          )}
          {method.takes === "bytes" && (
            <label>
              Or a file <input type="file" onChange={(event) => setFile(event.currentTarget.files?.[0])} />
            </label>
          )}
          <BlobInputs method={method} files={files} onChange={setFiles} />
          <div class="actions">
            {method.takes === "value" && (
              <button type="button" onClick={() => setText(example)}>
                Example
              </button>
            )}
            <KeepView name={method.name} onKeep={keepAs} />
            <CopyAs
              method={method}
              target={target}
              input={text}
              files={files}
              bytesFile={file?.name}
              settings={settings}
            />
          </div>
          <CallSettingsView settings={settings} target={target} onChange={setSettings} />
        </div>
      </section>
      <CallView call={call} target={target} />
    </div>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TypeError(`The message is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
}

function settingsOf({ metadata = [], timeoutMs, via, compress }: Partial<KeptRequest> = {}): CallSettings {
  return { metadata: linesOf(metadata), timeoutMs, via, compress };
}

/** Returns the settings of a call that are stored. Excludes metadata, which may contain secrets. */
function waysOf({ timeoutMs, via, compress }: CallSettings): Pick<KeptRequest, "timeoutMs" | "via" | "compress"> {
  return {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(via !== undefined && { via }),
    ...(compress !== undefined && { compress }),
  };
}

function MethodHead({ method }: { readonly method: ShownMethod }): JSX.Element {
  const { name, docs, kind, traits, permission, errors } = method;
  return (
    <section aria-label="Method" class="method">
      <ul class="badges" aria-label="Kind">
        <li class={`badge ${kind}`}>{kind.replace("_", " ")}</li>
        {traits.map((trait) => (
          <li key={trait} class="badge">
            {trait}
          </li>
        ))}
        {permission !== undefined && <li class="badge permission">{permission}</li>}
      </ul>
      {docs !== undefined && <p class="docs">{docs}</p>}
      <details>
        <summary>Types</summary>
        <pre tabIndex={0}>
          {name}({sideText(method.takes, method.input, method.streamsInput)}):{" "}
          {sideText(method.gives, method.output, method.streamsOutput) || "nothing"}
          {Object.entries(errors).map(([error, schema]) => `\nthrows ${error} ${schemaText(schema)}`)}
        </pre>
      </details>
    </section>
  );
}

function sideText(form: ShownMethod["takes"], schema: ShownMethod["input"], streams: boolean): string {
  if (form === "nothing") return "";
  const type = form === "bytes" ? "Uint8Array" : schema === undefined ? "unknown" : schemaText(schema);
  return streams ? `stream<${type}>` : type;
}
