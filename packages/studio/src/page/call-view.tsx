import type { JSX } from "preact";
import { useCallback, useRef, useState } from "preact/hooks";
import { ItemsView, boundedJson } from "./items-view.js";
import { JsonText } from "./json-text.js";
import { NetworkView } from "./network-view.js";
import { useObserved } from "./observed.js";
import type { RunningCall } from "./running-call.js";
import { keyLabel, SHORTCUTS, useShortcut } from "./shortcuts.js";
import { Tabs } from "./tabs.js";
import type { ServerTarget } from "./target.js";
import { TransfersView } from "./transfers-view.js";
import { BatchWaterfall, Waterfall } from "./waterfall.js";

const TABS = ["Messages", "Headers", "Timing", "Network"] as const;

/** Shows the result of a call, and the network traffic during the call. */
export function CallView({
  call,
  target,
}: {
  readonly call: RunningCall | undefined;
  readonly target: ServerTarget;
}): JSX.Element {
  useObserved(call);
  const [tab, setTab] = useState<(typeof TABS)[number]>("Messages");
  const part = useRef<HTMLDivElement>(null);
  const to = (name: (typeof TABS)[number]) => () => setTab(name);
  useShortcut("messages", useCallback(to("Messages"), []));
  useShortcut("headers", useCallback(to("Headers"), []));
  useShortcut("timing", useCallback(to("Timing"), []));
  useShortcut("network", useCallback(to("Network"), []));
  useShortcut(
    "answer",
    useCallback(() => (part.current?.querySelector<HTMLElement>("[tabindex='0']") ?? part.current)?.focus(), []),
  );
  return (
    <section class="answer pane" aria-label="Answer">
      <div class="bar">
        <Tabs label="Parts of the answer" id="answer-part" names={TABS} current={tab} onChoose={setTab} />
      </div>
      {call !== undefined && <Outcome call={call} />}
      <div
        id="answer-part"
        class="pane-body"
        role="tabpanel"
        tabIndex={0}
        aria-labelledby={`answer-part-${tab}`}
        ref={part}
      >
        {tab === "Network" && <NetworkView target={target} />}
        {tab !== "Network" && call === undefined && (
          <p class="dim empty">
            Nothing has been called yet. <kbd>{keyLabel(SHORTCUTS.run.key)}</kbd> calls.
          </p>
        )}
        {tab === "Messages" && call !== undefined && <Messages key={call.name} call={call} />}
        {tab === "Headers" && call !== undefined && <Headers call={call} />}
        {tab === "Timing" && call !== undefined && <Timing call={call} target={target} />}
      </div>
    </section>
  );
}

function Outcome({ call }: { readonly call: RunningCall }): JSX.Element {
  const { status, error, messages, sent, outbox, method, totalMs, paused } = call;
  const canPause = status === "running" && method.streamsOutput;
  const togglePause = useCallback(() => (call.paused ? call.resume() : call.pause()), [call]);
  useShortcut("pause", canPause ? togglePause : undefined);
  const counts = [
    ...(totalMs === undefined ? [] : [`${totalMs.toFixed(1)} ms`]),
    ...(method.streamsOutput ? [`${messages.received} received`] : []),
    ...(messages.forgotten > 0 ? [`the last ${messages.length} are kept`] : []),
    ...(method.streamsInput ? [`${sent} sent`] : []),
    ...(outbox.queuedCount > 0 ? [`${outbox.queuedCount} held back by the server`] : []),
  ];
  return (
    <div class={`outcome ${status}`}>
      <p class={`status ${status}`}>
        {/* What is read out: counts change too often for that. */}
        <span role="status">
          {status === "failed" ? (error?.code ?? "failed") : status}
          {paused && ", paused: the sender waits once its credit is used up"}
        </span>
        {counts.map((count) => ` · ${count}`)}
      </p>
      {canPause && (
        <button type="button" onClick={togglePause}>
          {paused ? "Resume" : "Pause"}
        </button>
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
          {error.details !== undefined && (
            <pre tabIndex={0}>
              <JsonText text={boundedJson(error.details, 100_000, 2)} />
            </pre>
          )}
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

function Timing({ call, target }: { readonly call: RunningCall; readonly target: ServerTarget }): JSX.Element {
  const rttMs = target.samples.at(-1)?.sample.stats.rttMs ?? undefined;
  const { carried, timings, served, steps } = call;
  const plan = steps && <BatchWaterfall steps={steps} />;
  if (carried !== undefined) {
    return (
      <>
        <Waterfall timings={carried} rttMs={rttMs} served={served} where={`Between the command and ${target.url}`} />
        {plan}
        {timings !== undefined && (
          <details>
            <summary>With the way between this page and the command</summary>
            <Waterfall
              timings={timings}
              rttMs={undefined}
              where="Between this page and the command, all of the above included"
            />
          </details>
        )}
      </>
    );
  }
  if (timings === undefined) return <p class="dim">It is shown when the call is over.</p>;
  return (
    <>
      <Waterfall timings={timings} rttMs={rttMs} served={served} where={`Between this page and ${target.url}`} />
      {plan}
    </>
  );
}
