import { readdirSync } from "node:fs"; import { join } from "node:path"; import { pathToFileURL } from "node:url";
import MiniSearch from "minisearch"; import { SEARCH } from "./search.mjs";
const chunks = "/tmp/wt/words/site/dist/assets/chunks";
const name = readdirSync(chunks).find((f) => f.startsWith("@localSearchIndexroot."));
const { default: index } = await import(pathToFileURL(join(chunks, name)).href);
const s = MiniSearch.loadJSON(index, { fields: ["title", "titles", "text"], searchOptions: SEARCH });
for (const q of process.argv.slice(2)) console.log(q, "\n    ", s.search(q).slice(0, 5).map((r) => r.id).join("  "));
