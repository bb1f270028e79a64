import type { JSX } from "preact";
import type { RunningCall } from "./running-call.js";
import type { Transfer } from "./transfers.js";

/** Shows the blobs of a call: the progress of those that it sends, and download buttons for those in its output. */
export function TransfersView({ call }: { readonly call: RunningCall }): JSX.Element | null {
  if (call.transfers.length === 0) return null;
  return (
    <ul class="transfers" aria-label="Files">
      {call.transfers.map((transfer) => (
        <li key={`${transfer.direction} ${transfer.field}`}>
          <span>
            {transfer.direction === "up" ? "↑" : "↓"} {transfer.field}: {transfer.name}
          </span>
          <progress
            aria-label={`${transfer.field}, transferred`}
            max={transfer.length || 1}
            value={transfer.length === undefined && transfer.status === "running" ? undefined : shareOf(transfer)}
          />
          <span class="dim">{textOf(transfer)}</span>
          {transfer.direction === "down" && transfer.status !== "running" && (
            <button type="button" onClick={() => call.download(transfer)}>
              {`Download ${transfer.field}`}
            </button>
          )}
          {transfer.direction === "down" && transfer.status === "running" && (
            <button type="button" onClick={() => transfer.stop?.abort()}>
              {`Cancel ${transfer.field}`}
            </button>
          )}
          {transfer.problem !== undefined && <span role="alert">{transfer.problem}</span>}
        </li>
      ))}
    </ul>
  );
}

function shareOf({ bytes, length, status }: Transfer): number {
  return length === 0 || (length === undefined && status === "done") ? 1 : bytes;
}

function textOf({ bytes, length }: Transfer): string {
  return length === undefined ? `${bytes} bytes` : `${bytes} of ${length} bytes`;
}
