// A server for page.html on this repository's engine: `node interop/chromium-crash/server.mjs`, after `npm run build`. It prints the page's URL.
// With a path of a Chromium as its argument it opens the page there as well, without a window, and says what became of it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { devCertificate } from "@quicrpc/node";
import { Endpoint } from "@quicrpc/quic";

/** Streams of a session, after the last of which it is closed. */
const STREAMS = 4;
/** Milliseconds between the answer on the last stream and the close: by turns all from 0 to 100, or the given number. */
const { CLOSE_AFTER_MS } = process.env;
/** A page that is silent for so long has crashed. */
const SILENT_MS = 20_000;
const CRASHED = "the page says nothing any more: it has crashed";
let sessions = 0;

const { cert, key, hash } = await devCertificate();
const endpoint = Endpoint.bind({ host: "127.0.0.1" });
const webTransport = { allowedOrigins: () => true };
endpoint.listen({ tls: { cert, key }, webTransport, transport: { maxHandshakesPerAddress: 900 } }, (session) => {
  let answered = 0;
  const answer = (stream) => {
    stream.stopSending(0);
    stream.write(Buffer.from("answer"), true);
    if (++answered < STREAMS) return;
    setTimeout(() => session.close({ closeCode: 7, reason: "done" }), Number(CLOSE_AFTER_MS ?? sessions++ % 100));
  };
  session.attach({
    onStream: (stream) => stream.attach(handler({ onData: () => answer(stream) })),
    onClosed: () => {},
  });
});

const page = readFileSync(new URL("page.html", import.meta.url), "utf8")
  .replace("PORT", endpoint.address.port)
  .replace("HASH", JSON.stringify([...hash.value]))
  .replace("STREAMS", STREAMS);
let silence;
const site = createServer(({ url, method }, response) => {
  if (method === "POST") told(decodeURIComponent(url.slice(1)));
  response.setHeader("content-type", "text/html").end(method === "POST" ? "" : page);
});
site.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${site.address().port}/`;
  console.log(url);
  const [, , chromium, ...options] = process.argv;
  if (chromium === undefined) return;
  const browser = spawn(chromium, ["--headless=new", "--no-sandbox", ...options, url], { stdio: "ignore" });
  process.on("exit", () => browser.kill());
  silence = setTimeout(end, SILENT_MS, CRASHED);
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit());
});

function told(text) {
  console.log(`the page: ${text}`);
  clearTimeout(silence);
  if (text.startsWith("all ")) end("done");
  silence = setTimeout(end, SILENT_MS, CRASHED);
}

function end(why) {
  console.log(why);
  process.exit();
}

function handler(given) {
  const nothing = () => {};
  return { onEnd: nothing, onReset: nothing, onStopSending: nothing, onDrain: nothing, onClosed: nothing, ...given };
}
