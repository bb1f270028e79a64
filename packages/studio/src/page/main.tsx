import { render } from "preact";
import type { PageSettings } from "../assets.js";
import { App } from "./app.js";
import { takeToken } from "./place.js";
import { Target } from "./target.js";

interface Settings extends Pick<PageSettings, "title" | "route" | "describedBy"> {
  readonly nonce: string;
}

const given = document.querySelector<HTMLMetaElement>("meta[name=quicrpc-studio]")?.content ?? "{}";
const { title, route, describedBy, nonce } = JSON.parse(given) as Settings;

Target.open(route, takeToken(), describedBy).then(
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
