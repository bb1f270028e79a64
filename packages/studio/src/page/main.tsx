import { render } from "preact";
import type { PageSettings } from "../assets.js";
import { App } from "./app.js";
import { takeToken } from "./place.js";
import { listenToKeys } from "./shortcuts.js";
import { Target } from "./target.js";

interface Settings extends Pick<PageSettings, "title" | "route" | "describedBy" | "trust"> {
  readonly nonce: string;
}

const given = document.querySelector<HTMLMetaElement>("meta[name=quicrpc-studio]")?.content ?? "{}";
const settings = JSON.parse(given) as Settings;
const { title, nonce } = settings;

listenToKeys();
Target.open(settings, takeToken()).then(
  (target) => render(<App target={target} title={title} nonce={nonce} />, document.body),
  (error: unknown) =>
    render(
      <main>
        <h1>{title}</h1>
        <p class="failure" role="alert">
          {error instanceof Error ? error.message : String(error)}
        </p>
      </main>,
      document.body,
    ),
);
