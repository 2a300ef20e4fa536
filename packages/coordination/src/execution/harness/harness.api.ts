import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { getHarnessContext } from './harness.ts';
import { HarnessContext } from './harness-context.ts';

export const harnessApi = [
  endpoint({
    id: 'getHarnessContext',
    method: 'GET',
    path: '/harness/context',
    summary: "Read the caller's claims, runs and journal cursor, for example after a restart.",
    description:
      'A running run without a live claim among `activeClaims` is orphaned: end it with `:fail` and the reason ' +
      '`restart_recovery`.',
    query: { sessionId: Uuid.optional() },
    returns: { 200: HarnessContext },
    errors: ['not_found'],
    handle: ({ query }, context) => getHarnessContext(context, query.sessionId),
  }),
];
