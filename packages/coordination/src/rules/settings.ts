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
    doc: 'Maximum number of events of one tenant that the work rules process in one turn before the next tenant is served.',
  }),
  CP_RULES_MAX_ATTEMPTS: integer({
    default: 3,
    min: 1,
    max: 100,
    unit: 'attempts',
    doc: 'Number of unexpected errors after which the evaluation of a work rule ends as failed.',
  }),
  CP_RULES_SKILL_CHECK_SECONDS: integer({
    default: 15,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'Delay between attempts of a pending evaluation of a work rule.',
  }),
  CP_RULES_SKILL_WAIT_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'Timeout of a skill that a work rule calls.',
  }),
  CP_RULES_CLAIM_WAIT_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'Maximum time that a work rule waits for the live claim on a task that it closes.',
  }),
  CP_RULES_WAITING_MAX: integer({
    default: 1000,
    min: 1,
    max: 100_000,
    unit: 'evaluations',
    doc: 'Maximum number of evaluations of one work rule that wait for a skill or a claim; a tenant may have ten times as many. Evaluations beyond the limit fail.',
  }),
  CP_RULES_ENABLED_MAX: integer({
    default: 500,
    min: 1,
    max: 5000,
    unit: 'rules',
    doc: 'Maximum number of enabled work rules per tenant.',
  }),
  CP_RULES_CHAIN_MAX: integer({
    default: 16,
    min: 1,
    max: 1000,
    unit: 'links',
    doc: 'Maximum length of a chain of work rules that trigger each other, each within a minute; the next evaluation is stopped as a loop.',
  }),
  CP_RULES_RETENTION_SECONDS: integer({
    default: 2_592_000,
    min: 86_400,
    max: 315_360_000,
    unit: seconds,
    doc: 'Retention of evaluations of work rules after their end, and of the keys of derived tasks after the tasks are closed.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
