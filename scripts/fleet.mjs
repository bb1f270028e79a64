// A fleet of 100 servers and 10,000 clients in virtual time: `node scripts/fleet.mjs`. Draws docs/pictures/fleet-*.svg and writes the figures into docs/scaling.md.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { table, writePlaces } from "./docs.mjs";
import { lineChart } from "../site/line-chart.mjs";
import { fail, root, run, setup, tool } from "./setup.mjs";

await setup();
const folder = mkdtempSync(join(tmpdir(), "quicrpc-fleet-"));
const file = join(folder, "results");
const { code } = await run([...tool.vitest, "run", "test/fleet", "--testTimeout", "300000"], {
  env: { QUICRPC_FLEET_RESULTS: file },
});
if (code !== 0) fail("the fleet did not behave");
const read = (name) => JSON.parse(readFileSync(`${file}.${name}`, "utf8"));
const enough = read("enough");
const { bounded, unbounded } = read("overload");
rmSync(folder, { recursive: true });

const of = ({ seconds }, what) => seconds.map((second) => second[what]);
const least = ({ loads }) => loads[0];
const most = ({ loads }) => loads.at(-1);
const mean = ({ loads }) => loads.reduce((sum, load) => sum + load, 0) / loads.length;
const pictures = {
  "fleet-load": {
    title: "Calls per second at each of 100 servers",
    subtitle: "33 of them are lost for 20 seconds",
    xLabel: "seconds",
    most: 240,
    lines: [{ name: "mean", color: "own", points: enough.seconds.map(mean) }],
    bands: [
      {
        name: "from the least to the most",
        color: "own",
        low: enough.seconds.map(least),
        high: enough.seconds.map(most),
      },
    ],
  },
  "fleet-retries": {
    title: "Attempts per second",
    subtitle: "the 67 servers that are left can answer 8,040",
    xLabel: "seconds",
    most: 80_000,
    lines: [
      { name: "without budgets", color: "bad", points: of(unbounded, "attempts") },
      { name: "with budgets", color: "own", points: of(bounded, "attempts") },
      { name: "calls that clients make", color: "arrow", points: of(bounded, "calls") },
    ],
  },
};
for (const [name, picture] of Object.entries(pictures)) {
  writeFileSync(join(root, `docs/pictures/${name}.svg`), lineChart(picture));
}

const number = (value) => Math.round(value).toLocaleString("en");
const total = (seconds, what) => seconds.reduce((sum, second) => sum + second[what], 0);
const during = ({ seconds }) => seconds.slice(15, 30);
const perSecond = (result, what) => number(total(during(result), what) / 15);
const loads = (from, to) => {
  const seconds = enough.seconds.slice(from, to);
  const range = [Math.min(...seconds.map(least)), Math.max(...seconds.map(most))].map(number).join(" to ");
  return `${number(seconds.reduce((sum, second) => sum + mean(second), 0) / seconds.length)} (${range})`;
};
const { sessions, seconds } = enough;
const figures = [
  ["sessions of each server", `${number(sessions[0])} to ${number(sessions.at(-1))}, 2,000 on average`],
  ["calls per second of each server before the loss", loads(1, 10)],
  ["while 33 of 100 are gone", loads(12, 30)],
  ["once they have been back for 15 s", loads(45, 50)],
  ["calls that failed, of all", `${number(total(seconds, "failed"))} of ${number(total(seconds, "calls"))}`],
  [
    "attempts to connect per second: most, and just before they are back",
    `${number(Math.max(...of(enough, "dials")))}, ${number(seconds[29].dials)}`,
  ],
  [
    "overload: attempts per second without budgets, with them",
    `${perSecond(unbounded, "attempts")}, ${perSecond(bounded, "attempts")}`,
  ],
  [
    "overload: answered per second, of 10,000",
    `${perSecond(unbounded, "answered")}, ${perSecond(bounded, "answered")}`,
  ],
];
await writePlaces(join(root, "docs/scaling.md"), "node scripts/fleet.mjs", {
  fleet: table(["| | |", "|---|---|"], figures),
});
