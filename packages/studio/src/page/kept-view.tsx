import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { addFile, forget, keptAsFile, type KeptRequest, requestsOf } from "./history.js";
import { download } from "./items-view.js";

/** Requests that were kept, and those that were made last. */
export function KeptView({ onOpen }: { readonly onOpen: (request: KeptRequest) => void }): JSX.Element {
  const [said, setSaid] = useState("");
  const kept = requestsOf("kept");
  const made = requestsOf("history");
  const add = async (file: File | undefined): Promise<void> => {
    if (file !== undefined) setSaid(`${addFile(await file.text())} added`);
  };
  return (
    <details class="kept">
      <summary>Kept requests and history</summary>
      <p class="actions">
        <button
          type="button"
          onClick={() => download(keptAsFile(), "studio.requests.json")}
          disabled={kept.length === 0}
        >
          Save as a file
        </button>
        <label>
          Add a file{" "}
          <input
            type="file"
            accept=".json"
            onChange={(event) => {
              add(event.currentTarget.files?.[0]).catch((error: unknown) => setSaid(String(error)));
            }}
          />
        </label>
        <span role="status">{said}</span>
      </p>
      <Requests
        title="Kept"
        requests={kept}
        onOpen={onOpen}
        onForget={(request) => (forget(request), setSaid(`${request.name} is forgotten`))}
      />
      <Requests title="History" requests={made} onOpen={onOpen} />
    </details>
  );
}

interface RequestsProps {
  readonly title: string;
  readonly requests: readonly KeptRequest[];
  readonly onOpen: (request: KeptRequest) => void;
  readonly onForget?: (request: KeptRequest) => void;
}

function Requests({ title, requests, onOpen, onForget }: RequestsProps): JSX.Element {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {requests.length === 0 && <p class="dim">none</p>}
      <ul>
        {requests.map((request) => (
          <li key={`${request.at} ${request.name}`}>
            <button type="button" class="link" onClick={() => onOpen(request)}>
              {request.name === undefined ? "" : `${request.name}: `}
              {request.service}/{request.method}
            </button>{" "}
            <span class="dim">
              {request.outcome} {request.ms === undefined ? "" : `${request.ms.toFixed(0)} ms`}
            </span>
            {onForget !== undefined && (
              <button type="button" aria-label={`Forget ${request.name ?? ""}`} onClick={() => onForget(request)}>
                ×
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
