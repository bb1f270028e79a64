// The entry of topics across workers and restarts: apart, since it takes zod at run time.
export { fileTopics, type FileTopicsOptions } from "./file-topics.js";
export { workerTopics } from "./workers/worker-topics.js";
