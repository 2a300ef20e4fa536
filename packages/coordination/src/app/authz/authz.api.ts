import { z } from 'zod';
import type { Surroundings } from '@baton/kernel/http/service';
import { type Context, endpoint } from '../context.ts';
import { ActionCheck, ActionCheckResult } from './action-check.ts';
import { checkActions } from './authz.ts';

export const authzApi = [
  endpoint({
    id: 'checkActions',
    method: 'POST',
    path: '/authz:check',
    summary: 'Check which actions the caller may perform.',
    description:
      "Checks the caller's own rights; nothing is written. The results are in the order of the checks. Each contains the permission, who grants it and what narrows it.",
    // Nothing changes, so no response is stored for a repeated request.
    idempotency: 'ignored',
    transaction: 'none',
    body: z.strictObject({ checks: z.array(ActionCheck).min(1).max(100) }).meta({ id: 'ActionChecks' }),
    returns: {
      200: z.strictObject({ results: z.array(ActionCheckResult) }).meta({ id: 'ActionCheckResults' }),
    },
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
    // In mode `policy` this calls the decision point, so no transaction or connection is held.
    around: async ({ body }, { context, command }: Surroundings<ActionCheckResult[], Context>) =>
      command(await checkActions(context, body.checks)),
    handle: ({ prepared }) => ({ results: prepared }),
  }),
];
