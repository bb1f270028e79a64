// The entry of topics across workers: apart, since it takes zod at run time.
export { workerTopics } from "./workers/worker-topics.js";
