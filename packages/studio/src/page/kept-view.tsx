import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { addFile, removeKept, forgetHistory, keptAsFile, type KeptRequest, requestsOf } from "./history.js";
import { downloadFile } from "./items-view.js";

export interface KeptViewProps {
  readonly onOpen: (request: KeptRequest) => void;
}

/** Shows the saved requests, with buttons that export them to a file and import them. */
export function KeptView({ onOpen }: KeptViewProps): JSX.Element {
  const [status, setStatus] = useState("");
  const keptRequests = requestsOf("kept");
  const add = async (file: File | undefined): Promise<void> => {
    if (file !== undefined) setStatus(`${addFile(await file.text())} added`);
  };
  return (
    <section aria-label="Kept">
      <p class="actions">
        <button
          type="button"
          onClick={() => downloadFile(keptAsFile(), "studio.requests.json")}
          disabled={keptRequests.length === 0}
        >
          Save as a file
        </button>
        <label class="button">
          Add a file
          <input
            type="file"
            class="hidden"
            accept=".json"
            onChange={(event) => {
              const { currentTarget } = event;
              add(currentTarget.files?.[0]).catch((error: unknown) =>
                setStatus(error instanceof Error ? error.message : String(error)),
              );
              // Selecting the same file again must be a change too.
              currentTarget.value = "";
            }}
          />
        </label>
      </p>
      <p role="status">{status}</p>
      {keptRequests.length === 0 && (
        <p class="dim">
          None yet: “Keep” beside a request remembers it here, in this browser. A file of them is for git.
        </p>
      )}
      <ul class="requests">
        {keptRequests.map((request) => (
          <li key={`${request.at} ${request.name}`}>
            <button type="button" class="link" onClick={() => onOpen(request)}>
              <strong>{request.name}</strong>
              <span class="dim">{request.method}</span>
            </button>
            <button
              type="button"
              class="quiet"
              aria-label={`Forget ${request.name ?? ""}`}
              onClick={() => {
                removeKept(request);
                setStatus(`${request.name} is forgotten`);
              }}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function HistoryView({ onOpen }: KeptViewProps): JSX.Element {
  const [, setCleared] = useState(0);
  const requests = requestsOf("history");
  return (
    <section aria-label="History">
      <p class="actions">
        <button
          type="button"
          disabled={requests.length === 0}
          onClick={() => {
            forgetHistory();
            setCleared((count) => count + 1);
          }}
        >
          Forget all
        </button>
      </p>
      {requests.length === 0 && <p class="dim">Nothing has been called yet.</p>}
      <ul class="requests">
        {requests.map((request) => (
          <li key={request.at}>
            <button
              type="button"
              class="link"
              onClick={() => onOpen(request)}
              title={`${request.service}/${request.method}`}
            >
              <strong>{request.method}</strong>
              <span class="dim">
                <span class={request.outcome === "ok" ? "good" : "bad"}>{request.outcome}</span>{" "}
                {request.ms === undefined ? "" : `${request.ms.toFixed(0)} ms`} ·{" "}
                {new Date(request.at).toLocaleTimeString()}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
