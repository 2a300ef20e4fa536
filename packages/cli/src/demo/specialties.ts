import { BatonError } from '@baton/sdk';
import type { CoordinationClient } from '../coordination-client.ts';
import type { Issue } from '../import/forms/beads-lines.ts';
import type { Page } from '../wire.ts';

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
export function specialtyOf({ issue_type: type }: Issue): object {
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
export async function prepareSpecialties(administrator: CoordinationClient): Promise<string> {
  const { items } = await administrator.call<Page<object>>('GET', `/task-types?key=${typeKey}&status=active`);
  if (items.length === 0) await administrator.call('POST', '/task-types', featureType);
  return await findOrMakeCapability(administrator);
}

const featureType = {
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
    transitions: Object.entries(lifecycle).map(([from, to]) => ({ from, to })),
    claimStatus: 'building',
    releaseStatus: 'queued',
    completionStatus: 'shipped',
  },
};

async function findOrMakeCapability(administrator: CoordinationClient): Promise<string> {
  try {
    const made = await administrator.call<{ id: string }>('POST', '/capabilities', { name: debugging });
    return made.id;
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'capability_exists') throw error;
  }
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<{ id: string; name: string }> = await administrator.call(
      'GET',
      `/capabilities?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    const found = page.items.find(({ name }) => name === debugging);
    if (found !== undefined) return found.id;
    cursor = page.nextCursor;
  }
  throw new Error('the capability exists and is in no list');
}
