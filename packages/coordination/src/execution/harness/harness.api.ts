import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { getHarnessContext } from './harness.ts';
import { HarnessContext } from './harness-context.ts';

export const harnessApi = [
  endpoint({
    id: 'getHarnessContext',
    method: 'GET',
    path: '/harness/context',
    summary: 'Find again, after a restart, what the caller holds and where its journal goes on.',
    description:
      'A running run without a live claim among `activeClaims` is an orphan: end it with `:fail` and the reason `restart_recovery`.',
    query: { sessionId: Uuid.optional() },
    returns: { 200: HarnessContext },
    errors: ['not_found'],
    handle: ({ query }, context) => getHarnessContext(context, query.sessionId),
  }),
];
