import type { JSX } from "preact";
import type { CallSettings } from "./settings.js";
import type { ServerTarget } from "./target.js";

export interface CallSettingsProps {
  readonly settings: CallSettings;
  readonly target: ServerTarget;
  readonly onChange: (settings: CallSettings) => void;
}

/** Shows the settings of a call: metadata, deadline and transport. */
export function CallSettingsView({ settings, target, onChange }: CallSettingsProps): JSX.Element {
  const { metadata, timeoutMs, via = "", compress } = settings;
  return (
    <details>
      <summary>Metadata, deadline and way</summary>
      <label>
        Metadata, one "name: value" in each line; "…-bin" in base64
        <textarea
          rows={3}
          spellcheck={false}
          value={metadata}
          onInput={(event) => onChange({ ...settings, metadata: event.currentTarget.value })}
        />
      </label>
      <label>
        Deadline in milliseconds
        <input
          type="number"
          min="1"
          value={timeoutMs ?? ""}
          onInput={({ currentTarget: { value } }) =>
            onChange({ ...settings, timeoutMs: value === "" ? undefined : Number(value) })
          }
        />
      </label>
      <label>
        Via{" "}
        <select
          value={via}
          disabled={!target.can.via}
          onChange={({ currentTarget: { value } }) =>
            onChange({ ...settings, via: value === "" ? undefined : (value as "lane" | "stream") })
          }
        >
          <option value="">as the method says</option>
          <option value="lane">lane, shared with other calls</option>
          <option value="stream">stream of its own</option>
        </select>
      </label>
      <label>
        Compression{" "}
        <select
          value={compress === true ? "true" : ""}
          disabled={!target.can.compress}
          onChange={({ currentTarget: { value } }) =>
            onChange({ ...settings, compress: value === "true" ? true : undefined })
          }
        >
          <option value="">none</option>
          <option value="true">of what is sent, where the server reads it</option>
        </select>
      </label>
      {!target.can.compress && <p class="dim">{target.can.via ? NO_COMPRESSION : NO_WAY}</p>}
    </details>
  );
}

const NO_COMPRESSION = "A page that connects by itself sends nothing compressed.";
const NO_WAY = "Calls by HTTP choose neither way nor compression: the browser does.";
