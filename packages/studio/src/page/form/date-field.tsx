import { readIsoDate } from "@quicrpc/services/json-schema";
import type { JSX } from "preact";
import type { ControlProps } from "./field-view.js";
import { shownText } from "./form-context.js";

/** Form field for a date: as RFC 3339 text, and as local time. */
export function DateField({ form, node, path, label, aria }: ControlProps): JSX.Element {
  const value = shownText(form, node);
  const write = (time: string): boolean => form.edit(path, { kind: "replace", value: time });
  return (
    <div class="parts">
      <input
        {...aria}
        aria-label={`${label}, in RFC 3339`}
        autocomplete="off"
        value={value}
        onInput={(event) => write(event.currentTarget.value)}
      />
      <input
        type="datetime-local"
        step="0.001"
        aria-label={`${label}, by this machine's clock`}
        value={localTime(value)}
        onInput={(event) => {
          const { valueAsNumber } = event.currentTarget;
          if (!Number.isNaN(valueAsNumber)) write(ofLocalTime(valueAsNumber));
        }}
      />
    </div>
  );
}

/** Converts an RFC 3339 time to the value of a `datetime-local` input, or to "" if it is invalid. */
function localTime(text: string): string {
  const at = readIsoDate(text);
  if (at === undefined) return "";
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.getUTCFullYear() >= 0 && local.getUTCFullYear() <= 9999 ? local.toISOString().slice(0, -1) : "";
}

/** Converts the value of a `datetime-local` input to RFC 3339. The input's number is interpreted in UTC. */
function ofLocalTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  const local = new Date(0);
  local.setFullYear(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  local.setHours(date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds(), date.getUTCMilliseconds());
  return local.toISOString();
}
