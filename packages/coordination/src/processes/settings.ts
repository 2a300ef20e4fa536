import { integer, type SettingValues } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../rules/settings.ts';

const seconds = 'seconds';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  CP_PROCESSES_BATCH_SIZE: integer({
    default: 200,
    min: 1,
    max: 900,
    unit: 'events',
    doc: 'Maximum number of events that the processes of one tenant receive in one turn before the next tenant is served.',
  }),
  CP_PROCESSES_RETENTION_SECONDS: integer({
    default: 2_592_000,
    min: 86_400,
    max: 315_360_000,
    unit: seconds,
    doc:
      'How long an instance of a process is kept after its end, with its journal. An instance with unclosed objects ' +
      'is kept until they are closed.',
  }),
  CP_CEL_COST_LIMIT: integer({
    default: 10_000,
    min: 100,
    max: 1_000_000,
    unit: 'steps',
    doc:
      'The cost limit for one expression in a process, in steps of at most 5 microseconds; beyond it, evaluation ' +
      'ends with `expression_cost_exceeded`.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
