import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { createTopics, DEFAULT_TOPIC_LIMITS, MemoryLog, type Topics, type TopicsOptions } from "@quicrpc/topics";
import { TopicJournal } from "./topic-journal.js";
import { topicRelay } from "./workers/topic-relay.js";
import { sharesPorts } from "./workers/shared-worker.js";
import { isWorker } from "./workers/worker.js";
import { WorkerBus } from "./workers/worker-bus.js";

// Entry for topics across workers and restarts. It is separate because it requires zod at run time.

/** Options of `fileTopics`. */
export interface FileTopicsOptions extends Omit<TopicsOptions, "bus" | "log"> {
  /** Path of the file, which is created if it does not exist. Only one process at a time may use it. */
  readonly file: string;
}

const OPTIONS: OptionNames<FileTopicsOptions> = { file: true, limits: DEFAULT_TOPIC_LIMITS, onError: true };

/**
 * Creates topics whose history, within `limits`, is kept in a file. It survives restarts and crashes of the process.
 * After a power failure the last messages may be lost. Throws if the file cannot be read or written.
 */
export function fileTopics(topicsOptions: FileTopicsOptions): Topics {
  checkOptions("fileTopics()", topicsOptions, OPTIONS);
  const { file, ...options } = topicsOptions;
  const limits = { ...DEFAULT_TOPIC_LIMITS, ...options.limits };
  return createTopics({ ...options, log: new MemoryLog(limits, new TopicJournal(file)) });
}

/**
 * Creates topics for a process that `serve({ workers })` may have started, or that uses `shareUdpPorts`. Messages reach
 * all workers and the main process. Without workers they stay in this process.
 */
export function workerTopics(options: Omit<TopicsOptions, "bus"> = {}): Topics {
  return createTopics({ ...options, bus: isWorker || sharesPorts ? new WorkerBus() : topicRelay.bus() });
}
