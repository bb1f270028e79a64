import { createTopics, type Topics, type TopicsOptions } from "@quicrpc/core/topics";
import { topicRelay } from "./topic-relay.js";
import { sharesPorts } from "./shared-worker.js";
import { isWorker } from "./worker.js";
import { WorkerBus } from "./worker-bus.js";

/**
 * Creates topics for a process that `serve({ workers })` may have started, or that uses `shareUdpPorts`. Messages reach
 * all workers and the main process. Without workers they stay in this process.
 */
export function workerTopics(options: Omit<TopicsOptions, "bus"> = {}): Topics {
  return createTopics({ ...options, bus: isWorker || sharesPorts ? new WorkerBus() : topicRelay.bus() });
}
