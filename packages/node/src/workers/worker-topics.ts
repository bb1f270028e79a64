import { createTopics, type Topics, type TopicsOptions } from "@quicrpc/core/topics";
import { topicRelay } from "./topic-relay.js";
import { sharesPorts } from "./shared-worker.js";
import { isWorker } from "./worker.js";
import { WorkerBus } from "./worker-bus.js";

/**
 * Makes the topics of a process that `serve({ workers })` may have started, or one that uses `shareUdpPorts`: messages reach those of all its workers, and of the process that
 * keeps them. Where there are no workers they stay in this process.
 */
export function workerTopics(options: Omit<TopicsOptions, "bus"> = {}): Topics {
  return createTopics({ ...options, bus: isWorker || sharesPorts ? new WorkerBus() : topicRelay.bus() });
}
