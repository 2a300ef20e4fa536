import type { ProcessInstance } from '@baton/sdk';

export type InstanceStatus = ProcessInstance['status'];

export const statuses: readonly InstanceStatus[] = [
  'running',
  'suspended',
  'completed',
  'failed',
  'cancelled',
];

/** The parameters in the URL of the processes page. */
export interface ProcessesSearch {
  readonly status?: InstanceStatus;
}

/** Parses the URL; unknown parameters are dropped. */
export function processesSearch({ status }: Record<string, unknown>): ProcessesSearch {
  const known = statuses.find((name) => name === status);
  return known === undefined ? {} : { status: known };
}
