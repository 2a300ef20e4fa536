import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { agentStates } from './agent-spec.ts';

const key = z.string();
const state = z.enum(agentStates);

export const agentRevisionPublished = defineEvent(
  'agent.revision_published',
  'agent',
  z.strictObject({
    key,
    revision: z.int(),
    specHash: z.string(),
    previousRevision: z.int().nullable(),
    executorKind: z.string().nullable(),
    placed: z.boolean(),
    permissionsChanged: z.boolean(),
  }),
);

export const agentStateChanged = defineEvent(
  'agent.state_changed',
  'agent',
  z.strictObject({
    key,
    state,
    replicas: z.int(),
    previousState: state,
    previousReplicas: z.int(),
  }),
);

/** `releasedClaims` is the number of claims that the retirement ends; some may be released after the event. */
export const agentRetired = defineEvent(
  'agent.retired',
  'agent',
  z.strictObject({
    key,
    revision: z.int(),
    principalId: Uuid.nullable(),
    reason: z.string(),
    releasedClaims: z.int(),
  }),
);
