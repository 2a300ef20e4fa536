import type { ProcessInstance } from '@baton/sdk';

export type InstanceStatus = ProcessInstance['status'];

export const statuses: readonly InstanceStatus[] = [
  'running',
  'suspended',
  'completed',
  'failed',
  'cancelled',
];

/** What the address of the page of processes says. */
export interface ProcessesSearch {
  readonly status?: InstanceStatus;
}

/** Reads the address; what it does not know is left out. */
export function processesSearch({ status }: Record<string, unknown>): ProcessesSearch {
  const known = statuses.find((name) => name === status);
  return known === undefined ? {} : { status: known };
}
