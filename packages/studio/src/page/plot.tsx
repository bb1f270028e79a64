import type { ConnectionStats } from "@quicrpc/core/measure";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { ServerTarget } from "./target.js";

const HEIGHT = 120;

type Point = ServerTarget["samples"][number];

export interface PlotLine {
  readonly name: string;
  /** Returns the line's value at a sample. `before` is the preceding sample. */
  readonly valueOf: (point: Point, before: Point | undefined) => number | null | undefined;
}

export function statOf(name: keyof ConnectionStats): PlotLine["valueOf"] {
  return ({ sample: { stats } }) => stats[name];
}

/**
 * Returns a line that plots the increase of a counter per second. There is no value between two sessions, because each
 * session counts from 0.
 */
export function rateOf(name: keyof ConnectionStats): PlotLine["valueOf"] {
  return ({ at, sample }, before) => {
    const now = sample.stats[name];
    const then = before?.sample.stats[name] ?? undefined;
    if (typeof now !== "number") return undefined;
    if (before === undefined || then === undefined) return 0;
    if (sample.sessions !== before.sample.sessions || now < then) return null;
    return (now - then) / Math.max(0.001, at - before.at);
  };
}

export interface PlotProps {
  readonly target: ServerTarget;
  readonly label: string;
  readonly lines: readonly PlotLine[];
}

/** Plots lines over the last minutes, with their current values. */
export function Plot({ target, label, lines }: PlotProps): JSX.Element {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = container.current as HTMLDivElement;
    // Colours come from the style sheet, in the page's current colour scheme.
    const createPlot = (): uPlot => {
      const style = getComputedStyle(box);
      const axis = {
        stroke: style.getPropertyValue("color"),
        font: "11px system-ui",
        grid: { stroke: "rgba(128,128,128,.2)", width: 1 },
        ticks: { show: false },
      };
      const colors = [...box.querySelectorAll<HTMLElement>("[data-line]")].map(
        (element) => getComputedStyle(element).color,
      );
      return new uPlot(
        {
          width: box.clientWidth || 300,
          height: HEIGHT,
          legend: { show: false },
          cursor: { show: false },
          axes: [
            { ...axis, space: 70, size: 26, values: (_, times) => times.map(clockText) },
            { ...axis, size: 58, space: 22, values: (_, values) => values.map(shortText) },
          ],
          padding: [6, 8, 0, 0],
          scales: { y: { range: (_, __, max) => [0, Math.max(max ?? 0, 1) * 1.1] } },
          series: [
            {},
            ...lines.map(({ name }, index) => ({
              label: name,
              stroke: colors[index] ?? axis.stroke,
              width: 2,
              points: { show: false },
            })),
          ],
        },
        dataOf(target, lines),
        box,
      );
    };
    let plot = createPlot();
    const redraw = (): void => {
      plot.destroy();
      plot = createPlot();
    };
    const stop = target.subscribe(() => plot.setData(dataOf(target, lines)));
    const resized = new ResizeObserver(() => plot.setSize({ width: box.clientWidth || 300, height: HEIGHT }));
    resized.observe(box);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", redraw);
    const chosen = new MutationObserver(redraw);
    chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["style"] });
    return () => {
      stop();
      resized.disconnect();
      scheme.removeEventListener("change", redraw);
      chosen.disconnect();
      plot.destroy();
    };
  }, [target, lines]);
  return (
    <figure>
      <figcaption>{label}</figcaption>
      <div class="plot" ref={container} role="img" aria-label={`${label}, over the last minutes`}>
        <ul class="legend" aria-hidden="true">
          {lines.map(({ name }, index) => (
            <li key={name} data-line={index}>
              <span>{name}</span>
            </li>
          ))}
        </ul>
      </div>
    </figure>
  );
}

function dataOf({ samples }: ServerTarget, lines: readonly PlotLine[]): uPlot.AlignedData {
  return [
    samples.map(({ at }) => at),
    ...lines.map(({ valueOf }) => samples.map((point, index) => valueOf(point, samples[index - 1]) ?? null)),
  ] as uPlot.AlignedData;
}

function clockText(seconds: number): string {
  return new Date(seconds * 1000).toTimeString().slice(0, 8);
}

function shortText(value: number): string {
  for (const [size, unit] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ] as const)
    if (value >= size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  return String(Number(value.toPrecision(3)));
}
