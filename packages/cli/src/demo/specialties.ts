import { type BatonClient, BatonError, type NewTask, type NewTaskType } from '@baton/sdk';
import type { Issue } from '../import/forms/beads-lines.ts';

/**
 * What some of the demo's tasks ask for besides a claim: features have a type with statuses of its own and a budget, bugs
 * an agent that can debug, and every 40th open task the approval of a person.
 */

export const typeKey = 'demo-feature';
export const debugging = 'demo-debugging';
/** Actions that a run of a feature may record. */
export const actionsMax = 3;

/** The statuses of a feature: queued, building, and then shipped or dropped. */
export const lifecycle = {
  queued: ['building', 'dropped'],
  building: ['queued', 'shipped', 'dropped'],
  shipped: [],
  dropped: [],
} as const satisfies Record<string, readonly string[]>;

const gateEvery = 40;
/** Every fourth agent can't debug. */
const agentsPerNovice = 4;

export function isFeature(issueType: string): boolean {
  return issueType === 'feature';
}

/** The part of the body of POST /tasks that an issue's kind decides. */
export function specialtyOf({ issue_type: type }: Issue): Pick<NewTask, 'typeKey' | 'requirements'> {
  if (isFeature(type)) return { typeKey };
  return type === 'bug' ? { requirements: { capabilities: [debugging] } } : {};
}

export function needsApproval(openIndex: number): boolean {
  return openIndex % gateEvery === gateEvery / 2;
}

export function canDebug(agentIndex: number): boolean {
  return agentIndex % agentsPerNovice !== agentsPerNovice - 1;
}

/** Makes the type and the capability, where an earlier demo has not. @returns the id of the capability */
export async function prepareSpecialties(administrator: BatonClient): Promise<string> {
  const { items } = await administrator.taskTypes.list({ key: typeKey, status: 'active' });
  if (items.length === 0) await administrator.taskTypes.create(featureType);
  return await findOrMakeCapability(administrator);
}

const featureType: NewTaskType = {
  key: typeKey,
  displayName: 'Demo feature',
  fieldSchema: {
    type: 'object',
    properties: { issueId: { type: 'string' }, issueType: { const: 'feature' } },
    required: ['issueId', 'issueType'],
    additionalProperties: false,
  },
  lifecycleSchema: {
    statuses: [
      { key: 'queued', category: 'active' },
      { key: 'building', category: 'active' },
      { key: 'shipped', category: 'terminal_success' },
      { key: 'dropped', category: 'terminal_cancelled' },
    ],
    initialStatus: 'queued',
    transitions: Object.entries(lifecycle).map(([from, to]) => ({ from, to: [...to] })),
    claimStatus: 'building',
    releaseStatus: 'queued',
    completionStatus: 'shipped',
  },
};

async function findOrMakeCapability(administrator: BatonClient): Promise<string> {
  try {
    return (await administrator.capabilities.create({ name: debugging })).id;
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'capability_exists') throw error;
  }
  for await (const { id, name } of administrator.capabilities.list({ limit: 200 }))
    if (name === debugging) return id;
  throw new Error('the capability exists and is in no list');
}
