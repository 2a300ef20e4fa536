import { newId } from '@baton/values/ids';

/** A process definition with one human step by default. */
export function processSpec(more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    version: 1,
    displayName: 'Release of a change',
    identity: { agent: 'release-desk' },
    owner: [{ role: 'release-managers' }],
    data: {
      type: 'object',
      properties: {
        change: { type: 'string' },
        approved: { type: 'boolean' },
        amount: { type: 'number' },
        note: { type: ['string', 'null'] },
      },
    },
    start: {
      on: { observation: 'change-ready' },
      key: 'event.payload.data.change',
      set: { change: 'event.payload.data.change', amount: '1.0', approved: 'false', note: 'null' },
    },
    stages: [stageOf('review', [look()])],
    ...more,
  };
}

export const stageOf = (id: string, steps: readonly object[], more: object = {}) => ({ id, steps, ...more });

/** A human step. */
export const look = (more: object = {}, human: object = {}) => ({
  id: 'look',
  human: { taskType: 'task', title: 'Review {{ data.change }}', ...human },
  ...more,
});

/** A definition whose one stage has these steps. */
export const withSteps = (...steps: readonly object[]) => processSpec({ stages: [stageOf('review', steps)] });

export const newProcessKey = () => `p-${newId()}`;

const cellNames = ['when', 'then'] as const;

/**
 * A row of a decision table, built from pairs because the linter treats an object literal with a member named `then` as
 * a promise.
 */
export const ruleRow = (...cells: readonly [when: readonly string[], result: readonly string[]]): object =>
  Object.fromEntries(cellNames.map((name, n) => [name, cells[n]]));
