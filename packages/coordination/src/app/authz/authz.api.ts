import { z } from 'zod';
import { endpoint } from '../context.ts';
import { checkActions } from './authz.ts';

/** A word or a type that no resource has is refused with 400; one that is put together wrongly, with 422. */
export const Check = z.strictObject({
  action: z.enum([
    'approve',
    'reject',
    'suspend',
    'resume',
    'cancel',
    'request-cancel',
    'enable',
    'disable',
    'update-state',
  ]),
  resourceType: z.enum(['approval', 'process_instance', 'run', 'rule', 'agent', 'principal']),
  resourceId: z.string().min(1).max(200),
});

export const CheckResult = Check.extend({
  allowed: z.boolean(),
  reason: z
    .strictObject({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()) })
    .nullable(),
});

export const authzApi = [
  endpoint({
    id: 'checkActions',
    method: 'POST',
    path: '/authz:check',
    summary: 'Ask which actions the caller may do.',
    description: 'About the caller itself; nothing is written. The results are in the order of the checks.',
    // Nothing changes, so there is no answer to keep.
    idempotency: 'ignored',
    transaction: 'none',
    body: z.strictObject({ checks: z.array(Check).min(1).max(100) }),
    returns: { 200: z.strictObject({ results: z.array(CheckResult) }) },
    errors: ['unknown_action', 'invalid_check'],
    example: {
      checks: [
        {
          action: 'disable',
          resourceType: 'principal',
          resourceId: '0190b2c4-0000-7000-8000-000000000001',
        },
      ],
    },
    handle: async ({ body }, context) => ({ results: await checkActions(context, body.checks) }),
  }),
];
