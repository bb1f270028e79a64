import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ItemsView, textOf } from "./items-view.js";
import { NetworkView } from "./network-view.js";
import { useObserved } from "./observed.js";
import type { RunningCall } from "./running-call.js";
import type { Target } from "./target.js";
import { TransfersView } from "./transfers-view.js";
import { Waterfall } from "./waterfall.js";

const TABS = ["Messages", "Headers", "Timing", "Network"] as const;

/** The result of a call, and the network's traffic meanwhile. */
export function CallView({
  call,
  target,
}: {
  readonly call: RunningCall | undefined;
  readonly target: Target;
}): JSX.Element {
  useObserved(call);
  const [tab, setTab] = useState<(typeof TABS)[number]>("Messages");
  return (
    <section class="answer" aria-label="Answer">
      {call !== undefined && <Outcome call={call} />}
      <div class="tabs" role="tablist" aria-label="Parts of the answer">
        {TABS.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={tab === name}
            aria-controls="answer-part"
            onClick={() => setTab(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div id="answer-part" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === "Network" && <NetworkView target={target} />}
        {tab !== "Network" && call === undefined && <p class="dim">Nothing has been called yet.</p>}
        {tab === "Messages" && call !== undefined && <Messages call={call} />}
        {tab === "Headers" && call !== undefined && <Headers call={call} />}
        {tab === "Timing" && call !== undefined && <Timing call={call} target={target} />}
      </div>
    </section>
  );
}

function Outcome({ call }: { readonly call: RunningCall }): JSX.Element {
  const { status, error, received, sent, outbox, method, totalMs } = call;
  const parts = [
    status === "failed" ? (error?.code ?? "failed") : status,
    ...(totalMs === undefined ? [] : [`${totalMs.toFixed(1)} ms`]),
    ...(method.streamsOutput ? [`${received.count} received`] : []),
    ...(received.forgotten > 0 ? [`the last ${received.length} are kept`] : []),
    ...(method.streamsInput ? [`${sent} sent`] : []),
    ...(outbox.held > 0 ? [`${outbox.held} held back by the server`] : []),
    ...(call.paused ? ["paused: the sender waits once its credit is used up"] : []),
  ];
  return (
    <div class="outcome">
      <p role="status" class={`status ${status}`}>
        {parts.join(" · ")}
      </p>
      {status === "running" && (
        <p class="actions">
          {method.streamsOutput && (
            <button type="button" onClick={() => (call.paused ? call.resume() : call.pause())}>
              {call.paused ? "Resume" : "Pause"}
            </button>
          )}
          <button type="button" onClick={() => call.cancel()}>
            Cancel
          </button>
        </p>
      )}
    </div>
  );
}

function Messages({ call }: { readonly call: RunningCall }): JSX.Element {
  const { error } = call;
  return (
    <>
      {error !== undefined && (
        <div class="failure" role="alert">
          <p>
            <strong>{error.reason ?? error.code}</strong> {error.message}
          </p>
          {error.hint !== undefined && <p>{error.hint}</p>}
          {error.details !== undefined && <pre tabIndex={0}>{textOf(error.details, 100_000, 2)}</pre>}
        </div>
      )}
      <TransfersView call={call} />
      <ItemsView call={call} />
    </>
  );
}

function Headers({ call: { headers, trailers } }: { readonly call: RunningCall }): JSX.Element {
  return (
    <>
      <Fields title="Headers" fields={headers} />
      <Fields title="Trailers" fields={trailers} />
    </>
  );
}

function Fields({
  title,
  fields = [],
}: {
  readonly title: string;
  readonly fields: RunningCall["headers"] | undefined;
}): JSX.Element {
  return (
    <table>
      <caption>{title}</caption>
      <tbody>
        {fields.length === 0 && (
          <tr>
            <td class="dim">none</td>
          </tr>
        )}
        {fields.map(([name, value], index) => (
          <tr key={index}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Timing({ call, target }: { readonly call: RunningCall; readonly target: Target }): JSX.Element {
  const rttMs = target.samples.at(-1)?.sample.stats.rttMs ?? undefined;
  const { carried, timings, served } = call;
  if (carried !== undefined) {
    return (
      <>
        <Waterfall timings={carried} rttMs={rttMs} served={served} where={`Between the command and ${target.url}`} />
        {timings !== undefined && (
          <Waterfall
            timings={timings}
            rttMs={undefined}
            where="Between this page and the command, all of the above included"
          />
        )}
      </>
    );
  }
  if (timings === undefined) return <p class="dim">It is shown when the call is over.</p>;
  return <Waterfall timings={timings} rttMs={rttMs} served={served} where={`Between this page and ${target.url}`} />;
}
