/** What no client of a page needs. */
const UNWANTED = /node_modules\/(zod|msgpackr)\/|core\/dist\/(server\/|interceptors\/|balance\/|call\/json)/;

/** Fails a bundle that contains what it should not. */
const unwanted = {
  name: "unwanted",
  setup({ onEnd }) {
    onEnd(({ metafile }) => {
      const inputs = Object.values(metafile?.outputs ?? {}).flatMap((output) => Object.entries(output.inputs));
      const found = inputs.filter(([path, { bytesInOutput }]) => bytesInOutput > 0 && UNWANTED.test(path));
      return { errors: found.map(([path]) => ({ text: `the bundle contains ${path}` })) };
    });
  },
};

const page = (config) => ({ ...config, format: "esm", target: "es2023" });
const leanPage = (config) => ({ ...page(config), plugins: [unwanted] });

/** Pages as esbuild bundles them, minified and compressed by gzip. `npm run size:docs` writes what they come to. */
export default [
  {
    name: "`connectWebTransport`: no fallback, nothing is served, MessagePack alone",
    path: "test/size/web-transport.ts",
    modifyEsbuildConfig: leanPage,
    gzip: true,
    limit: "28.5 kB",
  },
  {
    name: "`connect`: WebTransport, the fallback, serving, every codec",
    path: "test/size/fallback.ts",
    modifyEsbuildConfig: page,
    gzip: true,
    limit: "39 kB",
  },
  {
    name: "`createClientSession(new WebTransport(url))` of `@quicrpc/core`: one session, which does not heal",
    path: "test/size/one-session.ts",
    modifyEsbuildConfig: leanPage,
    gzip: true,
    limit: "25 kB",
  },
];
