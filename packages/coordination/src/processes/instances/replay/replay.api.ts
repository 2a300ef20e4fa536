import type { Surroundings } from '@baton/kernel/http/service';
import { TypeKey } from '@baton/values/keys';
import { type Context, endpoint } from '../../context.ts';
import { ProcessReplay, ReplayRequest, replayInTurn } from './candidate.ts';

export const processReplayApi = [
  endpoint({
    id: 'replayProcessDefinition',
    method: 'POST',
    path: '/process-definitions/{key}:replay',
    summary: 'See what instances would have done by another definition.',
    description:
      'What instances took, in its order and at its times, is taken once more by the candidate, whose version does not count; what it leads to is compared with their journals. Answers that only the candidate would wait for never come. Calendars count as they are now. Instances from before Baton kept what they took are `incomplete`. What an instance took before it went on by a later version is taken by the versions of then. Nothing is written. One call of a tenant runs at a time and two of a process; four of a tenant wait for 10 s at most.',
    permission: 'packages.test',
    alsoOneOf: ['processes.read'],
    idempotency: 'ignored',
    transaction: 'none',
    params: { key: TypeKey },
    body: ReplayRequest,
    returns: { 200: ProcessReplay },
    errors: ['not_found', 'payload_too_large'],
    example: {
      spec: {
        version: 2,
        displayName: 'Release of a change',
        identity: { agent: 'release-desk' },
        data: { type: 'object', properties: { change: { type: 'string' } } },
        start: { on: { observation: 'change-ready' }, key: 'event.payload.data.change' },
        stages: [{ id: 'end', steps: [{ id: 'done', complete: { outcome: 'released' } }] }],
      },
      limit: 20,
    },
    around: async ({ params, body }, { context, command }: Surroundings<ProcessReplay, Context>) =>
      command(await replayInTurn(context, params.key, body)),
    handle: ({ prepared }) => prepared,
  }),
];
