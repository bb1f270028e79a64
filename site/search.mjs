import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import MiniSearch from "minisearch";
import { QUESTIONS } from "./questions.mjs";

/** How the site searches: what somebody asks is answered by a guide rather than by a line of the API reference. */
export const SEARCH = {
  fuzzy: 0.2,
  prefix: true,
  boost: { title: 4, text: 2, titles: 1 },
  boostDocument: (id) => (id.startsWith("/api/") || id.startsWith("/changelog") ? 0.2 : 1),
};

/** How many results one sees without scrolling. */
const SEEN = 5;

/** A line for each question that the search of a built site does not answer among the first results. */
export async function unanswered(folder) {
  const chunks = join(folder, "assets/chunks");
  const name = readdirSync(chunks).find((file) => file.startsWith("@localSearchIndexroot."));
  if (name === undefined) throw new Error(`${chunks} has no search index`);
  const { default: index } = await import(pathToFileURL(join(chunks, name)).href);
  const search = MiniSearch.loadJSON(index, { fields: ["title", "titles", "text"], searchOptions: SEARCH });
  return QUESTIONS.flatMap(({ asked, answer }) => {
    const found = search.search(asked).slice(0, SEEN).map(({ id }) => id);
    const answered = found.some((id) => id === answer || id.startsWith(`${answer}#`));
    return answered ? [] : [`"${asked}" finds ${found.join(", ")}, not ${answer}`];
  });
}
