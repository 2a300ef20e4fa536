import { integer, type SettingValues } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../registry/settings.ts';

const seconds = 'seconds';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  CP_RULES_BATCH_SIZE: integer({
    default: 200,
    min: 1,
    max: 900,
    unit: 'events',
    doc: 'Events of one tenant that the work rules look at in one turn, before others have theirs.',
  }),
  CP_RULES_MAX_ATTEMPTS: integer({
    default: 3,
    min: 1,
    max: 100,
    unit: 'attempts',
    doc: 'Unexpected failures after which the evaluation of a work rule ends as failed.',
  }),
  CP_RULES_SKILL_CHECK_SECONDS: integer({
    default: 15,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'How often an evaluation of a work rule that waits looks again.',
  }),
  CP_RULES_SKILL_WAIT_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'How long a work rule waits for the skill that it asks.',
  }),
  CP_RULES_CLAIM_WAIT_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'How long a work rule that closes a task waits for the live claim on it to end.',
  }),
  CP_RULES_WAITING_MAX: integer({
    default: 1000,
    min: 1,
    max: 100_000,
    unit: 'evaluations',
    doc: 'Evaluations of one work rule that may wait at once, for a skill or for claims; ten times as many of one tenant. Those beyond fail.',
  }),
  CP_RULES_ENABLED_MAX: integer({
    default: 500,
    min: 1,
    max: 5000,
    unit: 'rules',
    doc: 'Enabled work rules of one tenant at most.',
  }),
  CP_RULES_CHAIN_MAX: integer({
    default: 16,
    min: 1,
    max: 1000,
    unit: 'links',
    doc: 'Work rules that may follow from each other, each within a minute; the next one is stopped as a loop.',
  }),
  CP_RULES_RETENTION_SECONDS: integer({
    default: 2_592_000,
    min: 86_400,
    max: 315_360_000,
    unit: seconds,
    doc: 'How long evaluations of work rules are kept after their end, and the key of a derived task after the task was closed.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
