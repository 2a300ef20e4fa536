import { Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { endpoint } from '../context.ts';
import { statusCategories } from '../task-types/lifecycle.ts';
import { explainClaimability } from './claimability.ts';
import { listMoves, readRequirements } from './readiness.ts';
import { TaskRef } from '../tasks/task-ref.ts';

const transitions = endpoint({
  id: 'listTaskTransitions',
  method: 'GET',
  path: '/tasks/{ref}/transitions',
  summary: 'Where a task can go from its status, and by which call.',
  permission: 'tasks.read',
  params: { ref: TaskRef },
  returns: {
    200: z.strictObject({
      taskId: Uuid,
      publicId: z.string(),
      typeId: Uuid,
      typeKey: z.string(),
      typeVersion: z.int(),
      status: z.string(),
      systemStatusCategory: z.enum(statusCategories),
      targets: z.array(
        z.strictObject({
          status: z.string(),
          displayName: z.string(),
          systemStatusCategory: z.enum(statusCategories),
          route: z.enum(['update', 'complete']),
        }),
      ),
    }),
  },
  errors: ['not_found'],
  handle: ({ params }, context) => listMoves(context, params.ref),
});

const claimability = endpoint({
  id: 'getTaskClaimability',
  method: 'GET',
  path: '/tasks/{ref}/claimability',
  summary: 'Whether a task can be claimed now, and everything that stands in the way.',
  permission: 'tasks.read',
  params: { ref: TaskRef },
  returns: {
    200: z.strictObject({
      taskId: Uuid,
      publicId: z.string(),
      claimable: z.boolean(),
      reasons: z.array(z.looseObject({ code: z.string() })),
    }),
  },
  errors: ['not_found'],
  handle: ({ params }, context) => explainClaimability(context, params.ref),
});

const requirements = endpoint({
  id: 'getTaskRequirements',
  method: 'GET',
  path: '/tasks/{ref}/requirements',
  summary: 'The roles, capabilities and skills that an executor of the task must have.',
  permission: 'tasks.read',
  params: { ref: TaskRef },
  returns: {
    200: z.strictObject({
      roles: z.array(z.strictObject({ id: Uuid, slug: z.string() })),
      capabilities: z.array(z.strictObject({ id: Uuid, name: z.string() })),
      skills: z.array(z.strictObject({ id: Uuid, name: z.string(), version: z.string() })),
    }),
  },
  errors: ['not_found'],
  handle: ({ params }, context) => readRequirements(context, params.ref),
});

export const readinessApi = [transitions, claimability, requirements];
