# Everything that this repository needs: `docker run` builds nothing and runs `npm start`, or the command that is given.
FROM node:24-bookworm AS node

FROM rust:1.95-bookworm
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
  && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
  && apt-get update \
  && apt-get install -y --no-install-recommends chromium firefox-esr procps \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /quicrpc
COPY . .
RUN npm run build
CMD ["npm", "start"]
