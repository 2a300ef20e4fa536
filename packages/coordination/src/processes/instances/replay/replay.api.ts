import type { Surroundings } from '@baton/kernel/http/service';
import { TypeKey } from '@baton/values/keys';
import { type Context, endpoint } from '../../context.ts';
import { ProcessReplay, ReplayRequest, replayInTurn } from './candidate.ts';

export const processReplayApi = [
  endpoint({
    id: 'replayProcessDefinition',
    method: 'POST',
    path: '/process-definitions/{key}:replay',
    summary: 'Replay instances with another definition.',
    description:
      'The candidate processes the recorded inputs of instances again, in the original order and at the original ' +
      'times, and the result is compared with the journals of the instances. The version number of the candidate is ' +
      'ignored. Results that only the candidate would wait for never arrive. Calendars are used in their current ' +
      'state. Instances whose inputs were not recorded, because they are older than that feature, are `incomplete`. ' +
      'Inputs before a migration are processed by the version of that time. Nothing is written. At most one ' +
      'call runs at a time per tenant, and two per server process; up to four calls per tenant wait for at most 10 s.',
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
