import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import MiniSearch from "minisearch";
import { QUESTIONS } from "./questions.mjs";

/**
 * How the site searches: guides come before workings, those before the API reference and the changes, and words that are in every text do not count. The page gets these
 * functions as text: they use nothing from around them.
 */
export const SEARCH = {
  // Another letter makes another word of a short one.
  fuzzy: (term) => (term.length > 4 ? 0.2 : false),
  prefix: (term) => term.length > 2,
  boost: { title: 4, text: 2, titles: 1 },
  processTerm: (term) => {
    if (
      /^(a|after|an|and|are|be|between|can|do|does|each|for|how|i|in|is|it|many|may|much|my|of|on|or|the|to|what|when|with|without)$/i.test(
        term,
      )
    ) {
      return null;
    }
    const word = term.toLowerCase();
    // What other tools call what has another name here.
    const others = {
      bidirectional: ["duplex"],
      batching: ["batch"],
      binary: ["bytes"],
      cluster: ["workers"],
      cores: ["core"],
      dos: ["denial"],
      golang: ["go", "language"],
      increase: ["large", "max"],
      heartbeat: ["keepalive", "ping"],
      login: ["credentials"],
      maximum: ["large", "max"],
      middleware: ["interceptors"],
      offline: ["reconnect"],
      shutdown: ["drain"],
      swagger: ["openapi"],
      unmount: ["effect"],
      useeffect: ["effect"],
      wifi: ["reconnect"],
    };
    return [word, ...(others[word] ?? [])];
  },
  boostDocument: (id) =>
    /^\/(api|changelog)/.test(id)
      ? 0.1
      : /^\/(options|cli|design|one-call|extensions|engine|compiled-codecs|performance|benchmarks|conformance|connect-conformance|interop|protocol|glossary|contributing|reporting|packages|examples)/.test(
            id,
          )
        ? 0.4
        : 1,
};

/** How many results one reads before one asks otherwise. */
const READ = 3;

/** A line for each question that the search of a built site does not answer among the first results, and for each answer that is no section. */
export async function unanswered(folder) {
  const chunks = join(folder, "assets/chunks");
  const name = readdirSync(chunks).find((file) => file.startsWith("@localSearchIndexroot."));
  if (name === undefined) throw new Error(`${chunks} has no search index`);
  const { default: index } = await import(pathToFileURL(join(chunks, name)).href);
  const search = MiniSearch.loadJSON(index, { fields: ["title", "titles", "text"], searchOptions: SEARCH });
  return QUESTIONS.flatMap(({ asked, answers }) => {
    const gone = answers.filter((id) => !search.has(id));
    if (gone.length > 0) return [`"${asked}" is answered by ${gone.join(" and ")}, which is no section`];
    const found = search
      .search(asked)
      .slice(0, READ)
      .map(({ id }) => id);
    const answered = found.some((id) => answers.includes(id));
    return answered ? [] : [`"${asked}" finds ${found.join(", ")}, not ${answers.join(" or ")}`];
  });
}
