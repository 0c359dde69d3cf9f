// The tab “System”: the machines and processes: network, disk, versions, clients, events and topics.

import { workersNow } from "../charts/playhead/workers_now.js";
import { semaphoresNow } from "../charts/semaphores/now.js";
import { semaphores } from "../charts/semaphores/over_time.js";
import {
  gpuMemory,
  gpuPower,
  gpuSpilled,
  gpuTemperature,
  gpuUtilization,
  rmmMemory,
} from "../charts/series/gpu.js";
import {
  clients,
  diskFull,
  diskRead,
  diskWrite,
  fileDescriptors,
  networkRead,
  networkWrite,
  schedulerCpu,
  schedulerMemory,
  transitions,
} from "../charts/series/machines.js";
import { workerMemory } from "../charts/series/memory.js";
import { cpu, eventLoop } from "../charts/series/processor.js";
import { environment } from "../charts/system/environment.js";
import { eventList } from "../charts/system/event_list.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const charts = [
  cpu,
  workerMemory,
  networkRead,
  networkWrite,
  diskRead,
  diskWrite,
  diskFull,
  fileDescriptors,
  gpuUtilization,
  gpuMemory,
  rmmMemory,
  gpuSpilled,
  gpuPower,
  gpuTemperature,
  schedulerCpu,
  schedulerMemory,
  transitions,
  clients,
  semaphores,
  eventLoop,
  workersNow,
  semaphoresNow,
  environment,
  eventList,
];
